"""Answers made of forecasts: how well they hold, how models compare, plans."""
