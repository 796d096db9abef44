"""Usefulness of a release: one measure a file. The public functions are `veladura.utility`."""
