"""Study 001, Nunes (2018): synthetic places from disease-mapping models."""

from veladura.studies.nunes.run import run

__all__ = ["run"]
