"""Anyone's program, measured as a YAML file describes it (docs/how-to/measure-program.md).

description  the file's keys
reading      the file, checked
executables  the programs of commands, told apart by their content
runs         what is run for a size and a GPU count: words, files, environment, their digest
binding      which GPUs a run may see
running      one run, from its start to its end
results      step times in what a run left
costs        what visits will cost
campaign     all visits, into the file of records
"""
