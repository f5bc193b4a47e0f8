"""The line of a failed run's output that says why it failed.

It is seldom the last: GROMACS and Open MPI end with a rule of hyphens, LAMMPS with the input line
at fault, MPI with a word of its own about processes that were ended.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_LOOKED_AT = 80
"""Lines from the end."""
_LONGEST = 200

_EXCEPTION = re.compile(r"^(?:\[[^\]]*\]:?\s*)?(?:[\w.]+\.)?\w*(?:Error|Exception): +\S")
_ERROR = re.compile(r"\berror\b(?!s)|^execvp|command not found", re.IGNORECASE)
_OF_NO_USE = re.compile(
    r"MPI_Abort|https?://|exit code|MPI_ERRORS_ARE_FATAL|without errors?\b|^Error file",
    re.IGNORECASE,
)
_WHERE = re.compile(r"(?:Program|Source file|Function|MPI rank): ")
"""What GROMACS says first in its box."""
_RULE = re.compile(r"^[\W_]{8,}$")


def reason(output: str) -> str | None:
    """One line of an output; None: it says nothing.

    In this order: the last exception of Python's, the first error that is told as such (and what
    stands below it, where it ends with a colon), the first line of the last box between rules, the
    last line that has a word.
    """
    lines = [" ".join(line.split()) for line in output.splitlines() if line.strip()][-_LOOKED_AT:]
    said = [line for line in lines if re.search(r"\w", line)]
    found = next((line for line in reversed(said) if _EXCEPTION.match(line)), None)
    if found is None:
        found = _first_error(said) or _in_last_box(lines) or (said[-1] if said else None)
    return None if found is None else found[:_LONGEST]


def _first_error(lines: Sequence[str]) -> str | None:
    for i, line in enumerate(lines):
        if _ERROR.search(line) and not _OF_NO_USE.search(line):
            below = lines[i + 1 : i + 3] if line.endswith(":") else []
            return " ".join([line, *below])
    return None


def _in_last_box(lines: Sequence[str]) -> str | None:
    """What stands below the last rule but one, where the output ends with a rule."""
    rules = [i for i, line in enumerate(lines) if _RULE.match(line)]
    if len(rules) < 2:
        return None
    box = [line for line in lines[rules[-2] + 1 : rules[-1]] if not _WHERE.match(line)]
    return " ".join(box[:2]) if box else None
