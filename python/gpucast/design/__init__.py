"""Design of experiments: which cells there are, and which to measure next.

cells       what is measured: n, GPU count, schedule, kernel, memory; the usual grids
next_cells  which cells to visit next so that what is asked of a model becomes surer
optimal     the choice behind that, as a function of numbers
"""
