"""A proposal for computing time as a folder: figures, tables, and a form's answers.

    numerals    numbers as a country writes them
    tables      scaling and hours as rows of text, and as Markdown, LaTeX, CSV and a workbook
    document    a Markdown text as a Word document
    folder      all files of a proposal

``templates/`` has what public forms ask. Nothing here is loaded before it is used.
"""

from typing import Literal

Form = Literal["general", "archer2", "eurohpc", "hlrs", "ncar"]
"""Whose form a text follows: a template each."""
