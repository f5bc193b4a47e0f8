"""nccl-tests: a table of one collective over sizes, imported as steps of n bytes.

A line's time is that of one operation, out of place; in place stands behind it and is taken with
every run. Columns are told by the header line, for options add some. Ranks are the ``Rank`` lines,
a GPU each. The average bus bandwidth mixes all sizes and is no measurement of any.

The name of the operation stands in newer versions only; of all-reduce, the ratio of bus to
algorithm bandwidth, 2 (N - 1) / N, tells it too.

Source: README.md, doc/PERFORMANCE.md and src/common.cu of NVIDIA/nccl-tests.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpucast.data.formats.logs import runs
from gpucast.data.formats.logs.runs import Found, Run
from gpucast.util.remarks import Kind, remark

_RANK = re.compile(
    r"Rank +(?P<rank>[0-9]+)(?: Group +(?P<group>[0-9]+))? +Pid +[0-9]+ on +(?P<host>\S+) "
    r"device +[0-9]+ \[[^\]\n]*\] (?P<name>[^\n]+)"
)
_START = re.compile(r"nThread [0-9]+ nGpus [0-9]+ ")
_HEADER = re.compile(r"^#\s+size\s+count\s[^\n]*\btime\b[^\n]*$", re.MULTILINE)
_NAMED = re.compile(r"(?P<name>[a-z_]+)_perf\b")
_VERSION = re.compile(r"nccl-tests version (?P<version>\S+)")
_EVERYWHERE = 0.02


def detect(text: str) -> bool:
    """Whether nccl-tests (or rccl-tests) printed it."""
    if "busbw" in text and _HEADER.search(text) is not None:
        return True
    return "minBytes" in text and _RANK.search(text) is not None


@dataclass(frozen=True)
class _Row:
    line: int
    fields: dict[str, str]
    in_place: dict[str, str]

    def number(self, name: str) -> float | None:
        return runs.decimal(self.fields.get(name, ""))


def parse(text: str) -> Found:
    """Two runs a line of the table, out of place and, secondary, in place."""
    found = Found()
    lines = runs.Lines(text)
    for number, (begin, part) in enumerate(runs.executions(text, _START)):
        _read(part, lines.of(begin) - 1, number, found)
    return found


def _read(part: str, before: int, number: int, found: Found) -> None:
    """The table of one start, which ``before`` lines precede."""
    ranks = list(_RANK.finditer(part))
    found.gpu_names += [each["name"].strip() for each in ranks]
    count, rows = len({(each["group"], each["rank"]) for each in ranks}), list(_rows(part))
    named, version = _NAMED.search(part), _VERSION.search(part)
    operation = named["name"] if named else _operation(rows, count)
    words = [version["version"] if version else None]
    for row in rows:
        case = [*words, row.fields.get("type"), row.fields.get("redop")]
        for fields, where in ((row.fields, None), (row.in_place, "in place")):
            micro, size = fields.get("time", ""), row.number("size")
            time = runs.decimal(micro)
            if not time or not size:
                continue
            label = [each for each in (*case, where) if each and each not in ("none", "-1")]
            found.runs.append(
                Run(
                    program=f"nccl-tests {operation}" if operation else "nccl-tests",
                    line=before + row.line,
                    seconds=(time / 1e6,),
                    uncertainty=runs.rounding(micro),
                    n=size,
                    unit="B",
                    gpus=count or None,
                    unclear="" if count else "no Rank lines say how many GPUs took part",
                    ranks=count or None,
                    nodes=len({each["host"] for each in ranks}) or None,
                    case=", ".join(label) or None,
                    execution=number,
                    secondary=where is not None,
                    more=runs.unshared(operation or "an operation of nccl-tests"),
                )
            )
    if not rows:
        found.unfinished.append(before + 1)
    wrong = [row for row in rows if row.fields.get("#wrong", "0") not in ("0", "N/A")]
    if wrong:
        text = f"{len(wrong)} line(s) with wrong results, as the program counts"
        found.remarks.append(remark(Kind.DATA, text, about="wrong results"))


def _rows(text: str) -> list[_Row]:
    """Lines of the table whose fields are all there."""
    header = _HEADER.search(text)
    if header is None:
        return []
    names = header[0].lstrip("#").split()
    first = names.index("time")
    again = next((at for at in range(first + 1, len(names)) if names[at] == "time"), len(names))
    start = text.count("\n", 0, header.start()) + 1
    rows = []
    for number, line in enumerate(text[header.start() :].splitlines(keepends=True), start):
        fields = line.split()
        if not fields or not fields[0].isdecimal() or not line.endswith("\n"):
            continue
        if len(fields) == len(names):
            whole = dict(zip(names[:again], fields, strict=False))
            rows.append(_Row(number, whole, dict(zip(names[again:], fields[again:], strict=True))))
    return rows


def _operation(rows: list[_Row], ranks: int) -> str | None:
    """All-reduce by its bandwidths' ratio; what others have in common is not told apart."""
    last = rows[-1] if rows else None
    if last is None or ranks < 3:
        return None
    algorithm, bus = last.number("algbw"), last.number("busbw")
    if not algorithm or not bus or last.fields.get("redop") in (None, "none"):
        return None
    factor = 2 * (ranks - 1) / ranks
    return "all_reduce" if abs(bus / algorithm / factor - 1) < _EVERYWHERE else None


FORMATS = (runs.log_format("nccl-tests", "nccl-tests' table", detect, parse),)
