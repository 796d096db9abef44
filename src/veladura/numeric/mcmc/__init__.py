"""Markov chains: running several of them, and judging whether they agree."""
