"""Trees on binned columns, and draws from their leaves."""
