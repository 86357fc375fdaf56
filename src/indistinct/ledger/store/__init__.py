"""What the ledger keeps and where: entries, files, a database, and whether they are still as entered."""
