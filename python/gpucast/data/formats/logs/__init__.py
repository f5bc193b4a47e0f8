"""Logs of programs that people run: tables of the TOML files, and modules that read some of them.

To add one, see ``programs.py``; nothing else has to be changed.
"""
