"""Forecasts of what was not measured, and how well they hold."""
