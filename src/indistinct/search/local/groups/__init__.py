"""Groups of rows: their space, partitions, repair and improvement."""
