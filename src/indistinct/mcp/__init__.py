"""What an assistant may ask about tables and releases: numbers and names, and never a cell."""
