"""What any layer needs: files, tables, units, order statistics. Knows nothing of GPUs."""
