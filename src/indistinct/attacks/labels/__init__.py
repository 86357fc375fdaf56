"""What released labels mean."""
