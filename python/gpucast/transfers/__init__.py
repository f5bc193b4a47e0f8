"""What transfers, launches and overlaps cost: curves, series, contention."""
