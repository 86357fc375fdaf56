"""What a recipient holds, one table or two: opened, with its manifest."""
