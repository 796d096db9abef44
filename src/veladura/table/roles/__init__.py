"""Roles by content: what each column of a table is, guessed from counts, nesting and shape."""

from veladura.table.roles.guess import Guess, guess_roles

__all__ = ["Guess", "guess_roles"]
