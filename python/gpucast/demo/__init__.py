"""The main job, ``make demo``: one story in three parts, with the commands shown.

Another program's step times become a forecast that is held against what was measured later; native
GPUs are held against remote ones; this machine is measured on the spot. Everything printed below a
``$`` line is what that command prints; type it to get it again.

    other_program   a table of step times: import, fit, check, best count, deadline
    remote_gpus     steps on four H200, and the same over remote GPUs, forecast without them
    live            this machine, by gpucast measure
    shell           how a command is shown and run
"""
