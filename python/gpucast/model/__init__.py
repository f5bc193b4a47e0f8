"""Fitted models: their forecasts and their files."""
