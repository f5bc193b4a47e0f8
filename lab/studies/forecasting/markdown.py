"""Tables and numbers in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(headers: Sequence[str], rows: Iterable[Sequence[object]], left: int = 1) -> str:
    """A table; the first ``left`` columns are aligned left, the others right."""
    marks = [":--" if i < left else "--:" for i in range(len(headers))]
    lines = [headers, marks, *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def percent(value: float | None) -> str:
    """A share with the digits that matter."""
    if value is None:
        return "-"
    if value == 0:
        return "0 %"
    digits = 2 if abs(value) < 0.00995 else 1 if abs(value) < 0.0995 else 0
    return f"{100 * value:.{digits}f} %"


def missed(text: str, reached: bool | None) -> str:
    """Bold where a target is missed."""
    return f"**{text}**" if reached is False else text
