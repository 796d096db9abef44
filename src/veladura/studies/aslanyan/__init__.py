"""Study 004, Aslanyan and Topchyan: critical cells, replaced by whole tuples."""

from veladura.studies.aslanyan.run import run

__all__ = ["run"]
