"""Design of experiments: which cells there are, and which to measure next.

cells       what is measured: n, GPU count, schedule, kernel, memory; the usual grids
optimal     which cell to measure next, as a function without input or output
ensembles   what a fit leaves open, for the design
"""
