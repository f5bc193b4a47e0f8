"""Anyone's program, measured as a YAML file describes it (docs/how-to/measure-program.md).

description  the file's keys
reading      the file, checked
executables  the programs of commands, told apart by their content
reasons      the line of an output that says why a run failed
runs         what is run for a size and a GPU count: words, files, environment, their digest
binding      which GPUs a run may see
allocation   the allocation of Slurm's that we are in, if we are
running      one run, from its start to its end
sharing      several instances at once on one GPU; usage: how busy it is; mps: NVIDIA's service
visit        warm-up and repeats of a run
traced       a run of each cell under the recorder
results      step times in what a run left
record       a visit as the file of records has it
costs        what visits will cost
budget       which visits are left, and what may be spent on them
fits         what is known so far, and what it says to questions
chosen       the next visits, where a budget or questions limit them
campaign     all visits, into the file of records
slurm        the same through Slurm's queue
"""
