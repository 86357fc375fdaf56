"""The proof of truth: every released row generalizes an original row of its own."""
