"""Usefulness of a release."""
