"""Figures of steps, a module each: ``gpucast figures NAME`` draws that of ``NAME.py``.

A module's docstring is the command's help. It states

    AXIS      the option for the quantity on its axis, of which no value can be chosen
    CHOSEN    what each value of the other option is drawn as
    drawings  yields what can be drawn of the steps asked about
    why_not   returns why that may be nothing
"""
