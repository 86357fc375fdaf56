"""Commands that show what could be released."""
