"""The main job, ``make demo``: one story in three parts, with the commands shown.

Another program's step times become a forecast that is held against what was measured later; native
GPUs are held against remote ones; this machine is measured on the spot. Everything printed below a
``$`` line is what that command prints; type it to get it again.
"""
