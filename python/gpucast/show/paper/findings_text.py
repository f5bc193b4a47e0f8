"""The paper's findings as a table, as Markdown and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas

    from gpucast.data.dataset import Dataset
    from gpucast.show.paper.findings import Finding

HEADERS = ["finding of the paper", "on these data", "number", "what it is, or why not"]
FILES = ("findings.md", "findings.json")


def rows(findings: Sequence[Finding]) -> list[list[str]]:
    """A row a finding: verdict, deciding number (least and greatest of all groups), what it is."""
    return [
        [finding.brief, finding.verdict, _number(finding), finding.reason or finding.number]
        for finding in findings
    ]


def table(findings: Sequence[Finding]) -> pandas.DataFrame:
    """The findings as a data frame: each with its verdict on the data, number and reason."""
    import pandas

    return pandas.DataFrame(rows(findings), columns=HEADERS)


def files(findings: Sequence[Finding], data: Dataset) -> dict[str, str]:
    """``findings.md`` and ``findings.json`` with their content."""
    parts = [
        f"# The paper's findings on {data.name}",
        "Setoguchi & Narumi found these on their machines; the numbers here are those of the data. "
        "A number is the least and the greatest of all groups of steps.",
        _markdown(HEADERS, rows(findings)),
    ]
    for finding in findings:
        if finding.rows:
            parts += [
                f"## {finding.brief}",
                f"{finding.statement}.",
                _markdown(finding.headers, finding.rows),
            ]
    answer = {"data": data.name, "findings": [finding.to_dict() for finding in findings]}
    text = json.dumps(answer, ensure_ascii=False, indent=2, allow_nan=False)
    return {"findings.md": "\n\n".join(parts) + "\n", "findings.json": text + "\n"}


def remote_ratios(
    findings: Sequence[Finding],
) -> list[tuple[str, str, float, tuple[float, float] | None]]:
    """Quantity, path, remote over native and its interval, of the finding about L, 1/B and
    t_kernel."""
    return [
        (row[0], row[1], number, interval)
        for finding in findings
        if finding.headers[0] == "quantity"
        for row, number, interval in zip(
            finding.rows, finding.numbers, finding.intervals, strict=True
        )
        if number is not None
    ]


def _number(finding: Finding) -> str:
    if finding.range is None:
        return "-"
    low, high = (f"{value:.2f}" for value in finding.range)
    return low if low == high else f"{low} ... {high}"


def _markdown(headers: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    cells = [list(headers), ["---"] * len(headers), *body]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in cells
    )
