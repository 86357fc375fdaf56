"""The privacy models, one file each."""
