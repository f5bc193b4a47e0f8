"""Defines the cells, the order of visits, and which cells to measure next.

cells       what is measured: n, GPU count, schedule, kernel, memory; grids, and orders over them
next_cells  which visits reduce the uncertainty of a model's answers most
questions   the questions of a campaign, and whether its fits answer them
"""
