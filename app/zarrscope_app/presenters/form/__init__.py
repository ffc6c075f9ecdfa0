"""The attributes of a node as a form: fields, a draft with its history, review, conflicts, unsaved edits."""
