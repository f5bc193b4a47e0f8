"""Reads OSU micro-benchmarks, as benchmarks.toml describes."""

from __future__ import annotations

from gpucast.data.formats.logs import runs
from gpucast.data.formats.logs.log import Part, positive

COLUMNS = r"# Size +(?P<what>(?:Avg )?Latency ?\(us\)|Bandwidth \(MB/s\))[^\n]*"
ROW = r"^(?P<n>[0-9]+)[ \t]+(?P<value>[0-9.]+)(?=[ \t\n])[^\n]*\n"
TWO_SIDED = {"latency", "bandwidth", "bi-directional bandwidth", "multi-threaded latency"}


def read(part: Part) -> None:
    """Report a run for each message size."""
    facts, columns = part.facts, part.find(COLUMNS)
    if "test" not in facts:
        return
    rows = part.all(ROW, columns.end()) if columns else []
    if columns is None or not rows:
        part.unfinished()
        return
    test, build = facts["test"], facts["build"]
    processes = 2 if test.lower() in TWO_SIDED else None
    if "send" not in facts and "-" not in build and not build.endswith("CCL"):
        facts["send"] = facts["receive"] = "H"
    if "send" not in facts and processes:
        part.remark("does not say whether buffers were on the host or on GPUs", "buffers")
    is_rate = columns["what"].startswith("Bandwidth")
    for row in positive(positive(rows, "value"), "n"):
        value, size = float(row["value"]), int(row["n"])
        part.run(
            row.start(), [size / (value * 1e6) if is_rate else value / 1e6],
            runs.rounding(row["value"]), n=size, program=f"OSU {build} {test}",
            gpus=processes, ranks=processes, more=runs.unshared(f"OSU {test}"),
            path=runs.HOST if facts.get("send") == facts.get("receive") == "H" else None,
            unclear=f"{test!r} does not say how many processes took part",
        )  # fmt: skip
