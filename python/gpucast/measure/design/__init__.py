"""Which cells there are, in which order they are visited, and which to measure next.

cells       what is measured: n, GPU count, schedule, kernel, memory; grids, and orders over them
next_cells  which cells to visit next so that what is asked of a model becomes surer
questions   what a campaign is asked, and whether its fits answer it
"""
