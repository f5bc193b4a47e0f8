"""Answers from forecasts: validation, comparison of models, plans."""
