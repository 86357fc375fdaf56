"""What a table looks like: roles and hierarchies of its columns, guessed with reasons."""
