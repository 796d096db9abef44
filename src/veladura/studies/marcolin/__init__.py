"""Study 003, Marcolin (2018): counts under differential privacy, and inference from them."""

from veladura.studies.marcolin.run import run

__all__ = ["run"]
