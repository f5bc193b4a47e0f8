"""Measuring: runs gpucast-microbench and gpucast-mdapp over a machine's paths into one file.

    paths       where the GPUs are and how programs reach them
    programs    the two programs, started and listened to
    store       the file: whole lines only, one writer, resumed
    rounds      the order of cells: the cheapest first, or spread over all of them
    work        what is to be measured on a path, and what became of it
    suite       the transfers and launches of a path
    pathrun     all measurements of one path
    identity    under which machine id
    campaign    all paths

Nothing here is loaded before it is used.
"""
