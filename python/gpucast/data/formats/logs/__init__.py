"""Logs of programs that people run, one module a program.

To add one, drop a module in here, as ``log.py`` says; nothing else has to be changed.
"""
