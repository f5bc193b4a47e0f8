"""Plots of steps, transfers and models; ``style`` says how all of them look."""
