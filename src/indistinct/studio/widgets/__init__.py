"""What the pages of the studio are made of."""
