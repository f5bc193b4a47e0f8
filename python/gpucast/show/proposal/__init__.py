"""Writes a folder for a proposal for computing time: figures, tables, and a form's answers.

    tables      tables of scaling and hours, as text, Markdown, LaTeX, CSV and a workbook, with
                numbers as a country writes them
    folder      all files of a proposal, some of them as Word documents

``templates/`` has the questions of public forms. Submodules are loaded when they are first used.
"""

from typing import Literal

Form = Literal["general", "archer2", "eurohpc", "hlrs", "ncar"]
"""Forms of computing centres; each has a template."""
