"""Full-domain algorithms: one level for each column."""
