"""Measures a user's own program, described in a YAML file (docs/how-to/measure-program.md).

description  the file's keys; reading: reads and checks the file
runs         what is run for a size and a GPU count: command, files, environment, their digest
request      what the user wants measured, and which of its visits were made
here         what is available on this machine: GPUs, a Slurm allocation, other users
running      one run: its folder, its output, why it failed
results      step times in a run's output
sharing      several instances at once on one GPU, how busy it is, and NVIDIA's MPS
traced       one run of each cell under the recorder
visit        warm-up and repeats of a run, as one record
campaign     makes all visits and records them, or lists them instead
slurm        the same through Slurm jobs
"""
