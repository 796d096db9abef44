"""Masks: noise, rank swapping, microaggregation, top-coding, recoding, post-randomisation."""
