"""CSV, SPSS, Stata, SAS and Excel files."""
