"""Anyone's program, measured as a YAML file describes it (docs/how-to/measure-program.md).

description  the file's keys; reading: the file, checked
runs         what is run for a size and a GPU count: words, files, environment, their digest
request      what the user wants, and which visits of it were made
here         what there is on this machine: GPUs, Slurm's allocation, other users
running      one run: its folder, its output, why it failed
results      step times in what a run left
sharing      several instances at once on one GPU; usage: how busy it is; mps: NVIDIA's service
traced       a run of each cell under the recorder
visit        warm-up and repeats of a run, as one record
campaign     all visits, into the file of records; dry_run: what they would be
slurm        the same through Slurm's queue
"""
