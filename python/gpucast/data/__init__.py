"""Records, datasets of them, and other programs' formats."""
