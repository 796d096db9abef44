"""Preparing a table: rows chosen by a rule or at random, and cells blanked, each one file."""
