"""What copies and launches take on a path, what a path does, and steps on another path."""
