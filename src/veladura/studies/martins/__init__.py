"""Study 000, Martins (2019): partially synthetic data by CART, with heavy tails."""

from veladura.studies.martins.run import run

__all__ = ["run"]
