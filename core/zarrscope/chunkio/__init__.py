"""From a selection to chunks and back: where they lie, reading, writing. Knows no node."""
