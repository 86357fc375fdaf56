"""Lower bounds on the loss of every local recoding, and exact partitions."""
