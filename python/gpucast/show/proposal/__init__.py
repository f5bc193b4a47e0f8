"""Writes a folder for a proposal for computing time: figures, tables, and a form's answers.

    numerals    number formats of countries
    tables      tables of scaling and hours, as text, Markdown, LaTeX, CSV and a workbook
    document    converts Markdown to a Word document
    folder      all files of a proposal

``templates/`` has the questions of public forms. Submodules are loaded when they are first used.
"""

from typing import Literal

Form = Literal["general", "archer2", "eurohpc", "hlrs", "ncar"]
"""Forms of computing centres; each has a template."""
