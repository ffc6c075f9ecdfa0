"""The canonical vocabulary: data types, fill values, metadata, selections, node paths. Pure data, no I/O."""
