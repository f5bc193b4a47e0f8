"""Transfer and launch times of a path, facts about it, and forecasts of steps on other paths."""
