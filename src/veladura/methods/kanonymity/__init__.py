"""k-anonymity and its relatives: generalise, suppress, prove."""
