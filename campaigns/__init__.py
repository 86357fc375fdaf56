"""Campaigns: long seeded attacks on what the package promises; ``python -m campaigns NAME``."""
