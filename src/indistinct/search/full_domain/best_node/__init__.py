"""How the best node of the lattice is found, and proven to be the best."""
