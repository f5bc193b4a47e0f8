"""The main job, ``make demo``: from measurements to answers, with the commands shown.

Native or remote GPUs, on four H200; then published measurements; then this machine, measured on
the spot. Everything printed below a ``$`` line is what that command prints; type it to get it
again.

    h200        steps and transfers of four H200: native, and over TCP
    published   the source documents' measurements
    live        this machine, by gpucast measure
    shell       how a command is shown and run
"""
