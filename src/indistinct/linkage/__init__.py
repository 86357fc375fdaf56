"""Which people of another table fit the labels of a release: spelling, what labels cover, and counting."""
