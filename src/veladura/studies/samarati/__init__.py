"""Study 002, Samarati and Sweeney (1998): k-anonymity by generalisation and suppression."""

from veladura.studies.samarati.run import run

__all__ = ["run"]
