"""Logs of other programs, one module for each.

To add one, add a module here, as ``log.py`` describes; nothing else changes.
"""
