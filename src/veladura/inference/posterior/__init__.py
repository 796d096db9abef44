"""Exact posteriors of differentially private releases."""
