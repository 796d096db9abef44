"""Synthetic geography: places drawn from disease-mapping models, and two geographic masks."""
