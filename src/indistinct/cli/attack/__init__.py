"""``indistinct attack``: one command for each attack."""
