"""Numbers below the methods: trees, hierarchies, chains, points."""
