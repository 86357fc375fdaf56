"""Local algorithms: each group has labels of its own."""
