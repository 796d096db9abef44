"""The studies of the source documents, run again: their tables and figures beside ours."""
