"""Measurement: runs programs on each path of a machine and records step and transfer times.

    paths       where the GPUs are and how programs reach them
    programs    gpucast-microbench and gpucast-mdapp, started, and their output read
    store       the file of records: whole lines only, one writer, can be resumed
    until       questions to a model, its answers, and which visits would make these certain
    visits      which visits were made, what one is expected to take, the budget, and which come
                next: the cheapest first, or spread over all cells
    pathrun     makes the visits of a path by any program and records them
    own         a path measured by our own programs
    campaign    all paths measured by them
    described   a user's own program, described in a YAML file

Submodules are loaded when they are first used.
"""
