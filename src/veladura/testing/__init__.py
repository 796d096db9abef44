"""The contract of every recipe as a test suite."""
