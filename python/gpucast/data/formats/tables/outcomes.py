"""Words that stand in tables where a run came to no result."""

from __future__ import annotations

import re
from collections.abc import Mapping

OUTCOMES = ("state", "exit_code", "success")
"""Roles of columns that tell how a run ended."""

_NONE = frozenset(("nan", "na", "n/a", "n.a.", "none", "null", "k.a.", "k. a."))

_FAILED = re.compile(
    r"abgebroch|abbruch|abgest|absturz|fehl|gescheit|crash|fail|abort|kill|cancel|oom\b"
    r"|out[ _-]?of[ _-]?me|seg(mentation)?[ _-]?f|sigsegv|diverg|blew up|explod|time[d ]?[ _-]?out"
    r"|time[ _-]?limit|err\b|error|did not|dnf\b|not (run|finished|completed|available|enough)"
    r"|no (result|time|data|run)|unstable|incomplete|unfinished|broken|skipped|preempt"
    r"|node[ _-]?fail|boot_fail|revoked|suspended|stopped|deadline|pending|running|queued|requeued"
    r"|configuring|completing|resizing|signaling|todo|tbd\b|missing|fehlt|nicht|kein|échec|échou|erreur|fall[oó]|fallid",
    re.IGNORECASE,
)  # fmt: skip
"""How words begin that say so, and the states of Slurm's jobs other than COMPLETED (``sacct``)."""


_FAILED_BY_ROLE = {
    "state": re.compile(r"(?:BF|CA|DL|F|NF|OOM|PD|PR|TO)(?![^ ])"),  # Slurm's short states
    "exit_code": re.compile(r"(?!0+(?:[.:]0+)?$)-?[0-9]"),
    "success": re.compile(r"(?:no|n|false|f|0|nein|falsch)$", re.IGNORECASE),
}
"""What says so in columns of these roles alone."""


def is_none(text: str) -> bool:
    """Whether a cell holds no value: ``n/a``, ``---``, a spreadsheet's error such as ``#NV``."""
    return text.casefold() in _NONE or text[:1] == "#" or not re.search(r"\w", text)


def has_failed(text: str) -> bool:
    """Whether a cell says that the run failed, or has not ended."""
    return _FAILED.match(text.strip()) is not None


def speaks_of_failure(text: str) -> bool:
    """Whether some word of a cell says so: ``CUDA error 700``."""
    return any(has_failed(text[word.start() :]) for word in re.finditer(r"[^\W\d]\w*", text))


def failure(outcomes: Mapping[str, str]) -> str | None:
    """What says so in the cells of a row that tell how its run ended, by role; None: nothing."""
    for role, text in outcomes.items():
        if has_failed(text) or _FAILED_BY_ROLE[role].match(text.strip()):
            word = text.split()[0]
            return word if role == "state" else f"{role} {word}"
    return None
