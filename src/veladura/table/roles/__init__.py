"""Roles by content: what each column of a table is, guessed from counts, nesting and shape."""
