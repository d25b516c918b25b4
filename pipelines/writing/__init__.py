"""From graded blocks to staged Parquet parts."""
