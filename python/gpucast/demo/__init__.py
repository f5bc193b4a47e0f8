"""The demonstration ``make demo``: a story in three parts that shows its commands.

First, another program's step times become a forecast, which is compared with later measurements;
then native GPUs are compared with remote ones; finally this machine is measured. The lines below a
``$`` line are the output of that command, which you can run yourself.
"""
