"""What a recipient holds: the released table or tables, and the manifest in which they say what they are."""
