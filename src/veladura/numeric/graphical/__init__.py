"""Graphical models of many categorical columns: junction trees, fits to noisy tables, rows."""
