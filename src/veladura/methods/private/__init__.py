"""Differential privacy: exact draws, a ledger of their privacy loss, promises that are proved."""
