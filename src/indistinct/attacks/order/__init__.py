"""What the order of released rows tells."""
