"""Logs of programs that people run: a module a program, or a table of one of the TOML files.

To add one, see ``log.py`` and ``lines.py``; nothing else has to be changed.
"""
