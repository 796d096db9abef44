"""The methods, one folder each."""
