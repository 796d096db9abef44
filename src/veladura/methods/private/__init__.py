"""Differential privacy: exact draws, a ledger of what they cost, and exact inference from what they give."""
