"""Plots of steps, transfers and models; ``style`` defines their appearance."""
