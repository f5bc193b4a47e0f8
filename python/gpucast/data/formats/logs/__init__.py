"""Logs of other programs: tables in the TOML files, and modules that read some of the logs.

To add a program, see ``programs.py``; nothing else has to be changed.
"""
