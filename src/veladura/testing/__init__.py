"""The contract of every recipe as one test suite: ``check_recipe(recipe)``."""

from veladura.testing.case import CANARY, CANARY_NUMBER, Case, ContractError, example_frame
from veladura.testing.checks import CHECKS, check_recipe

__all__ = [
    "CANARY",
    "CANARY_NUMBER",
    "CHECKS",
    "Case",
    "ContractError",
    "check_recipe",
    "example_frame",
]
