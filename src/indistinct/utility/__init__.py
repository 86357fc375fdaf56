"""What a release is still good for: COUNT queries."""
