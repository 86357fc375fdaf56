"""Commands that write what people read about releases: dossiers, and the review of a ledger."""
