"""Disclosure risk: one measure a file. The public functions are `veladura.risk`."""
