"""Reads nccl-tests' table, as benchmarks.toml describes."""

from __future__ import annotations

from collections.abc import Iterator

from gpucast.data.formats.logs import runs
from gpucast.data.formats.logs.log import Part
from gpucast.util.remarks import Kind

Fields = dict[str, str]


def read(part: Part) -> None:
    """Report two runs for each complete line: out of place and in place."""
    ranks, rows = part.all(part.log.gpu_name), list(_rows(part))
    count = len({(rank["group"], rank["rank"]) for rank in ranks}) or None
    operation = part.facts.get("operation") or _operation(rows[-1][1] if rows else {}, count or 0)
    for place, out_of_place, in_place in rows:
        size = runs.decimal(out_of_place.get("size", ""))
        words = [part.facts.get("version"), out_of_place.get("type"), out_of_place.get("redop")]
        for fields, where in (out_of_place, None), (in_place, "in place"):
            microseconds = runs.decimal(fields.get("time", ""))
            if not size or not microseconds:
                continue
            case = [word for word in (*words, where) if word and word not in ("none", "-1")]
            part.run(
                place, [microseconds / 1e6], runs.rounding(fields["time"]),
                program=f"nccl-tests {operation}" if operation else "nccl-tests", n=size,
                gpus=count, ranks=count, nodes=len({rank["host"] for rank in ranks}) or None,
                case=", ".join(case) or None, secondary=where is not None,
                more=runs.unshared(operation or "an operation of nccl-tests"),
            )  # fmt: skip
    if not rows:
        part.unfinished()
    wrong = [fields for _, fields, _ in rows if fields.get("#wrong", "0") not in ("0", "N/A")]
    if wrong:
        text = f"{len(wrong)} line(s) with wrong results, as the program counts"
        part.remark(text, "wrong results", Kind.DATA)


def _rows(part: Part) -> Iterator[tuple[int, Fields, Fields]]:
    """Yield place, and fields out of place and in place, of complete lines."""
    header = part.find(part.log.words["header"])
    names = header[0].lstrip("#").split() if header else []
    for line in part.all(r"^[ \t]*[0-9]+[ \t][^\n]*\n", header.end()) if header else ():
        fields = line[0].split()
        # Blank for operations that reduce nothing.
        blank = ("redop", "root")[: max(0, len(names) - len(fields))]
        known = [name for name in names if name not in blank]
        if len(fields) == len(known):
            named = list(zip(known, fields, strict=True))
            behind = known.index("time") + 1
            again = (*known, "time").index("time", behind)
            yield line.start(), dict(named[:again]), dict(named[again:])


def _operation(fields: Fields, ranks: int) -> str | None:
    """Return the operation, all-reduce by its bandwidths' ratio; other ratios are ambiguous."""
    algorithm, bus = (runs.decimal(fields.get(name, "")) for name in ("algbw", "busbw"))
    if ranks < 3 or not algorithm or not bus or fields.get("redop") in (None, "none"):
        return None
    factor = 2 * (ranks - 1) / ranks
    return "all_reduce" if abs(bus / algorithm / factor - 1) < 0.02 else None
