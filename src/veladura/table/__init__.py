"""Tables in memory, files and databases. No other folder imports Ibis."""
