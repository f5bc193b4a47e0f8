"""Measuring: runs programs over a machine's paths, for steps and transfers, into one file.

    paths       where the GPUs are and how programs reach them
    programs    gpucast-microbench and gpucast-mdapp, started and listened to
    store       the file: whole lines only, one writer, resumed
    costs       what a visit of a cell is expected to take
    until       questions, what fits answer, and which visits would make them sure
    visits      which visits were made, what may be spent, which ones are next: the cheapest first,
                or spread over all cells
    pathrun     the visits of a path by any program, into the file
    own         a path measured by our own programs
    campaign    all paths measured by them
    described   anyone's program, as a file describes it

Nothing here is loaded before it is used.
"""
