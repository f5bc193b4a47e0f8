"""OSU micro-benchmarks: latency, bandwidth and collectives over message sizes, as steps of n bytes.

Latencies are microseconds for one way, bandwidths 1e6 bytes a second of consecutive messages; both
become seconds a message. Point-to-point tests have two processes; collectives do not state their
number, so that ``--gpus`` is required. A CUDA or ROCm build in the title does not mean that the
buffers were on GPUs; the line ``Send Buffer on DEVICE (D)`` does.

Source: util/osu_util.c of the OSU micro-benchmarks; published outputs.
"""

from __future__ import annotations

from gpucast.data.formats.logs import runs
from gpucast.data.formats.logs.log import Log, Part, positive

TITLE = (
    r"# OSU (?P<build>(?:MPI|NCCL|RCCL|XCCL|OpenSHMEM|UPC\S*)(?:-(?:CUDA|ROCM|SYCL|OPENACC))?) "
    r"(?P<test>[^\n]*?)(?: Test)? v(?P<version>[0-9.]+[0-9])"
)
COLUMNS = r"# Size +(?P<what>(?:Avg )?Latency ?\(us\)|Bandwidth \(MB/s\))[^\n]*"
ROW = r"^(?P<n>[0-9]+)[ \t]+(?P<value>[0-9.]+)(?=[ \t\n])[^\n]*\n"
TWO_SIDED = {"latency", "bandwidth", "bi-directional bandwidth", "multi-threaded latency"}


def _read(part: Part) -> None:
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


LOG = Log(
    name="osu", what="OSU micro-benchmarks", read=_read, unit="B", start=TITLE, marks=[TITLE],
    facts=[
        TITLE, r"# Datatype: (?P<type>\w+)",
        r"Send Buffer on \w+ \((?P<send>\w+)\) and Receive Buffer on \w+ \((?P<receive>\w+)\)",
    ],
    case="{version}, {type}, buffers {send} {receive}",
)  # fmt: skip
FORMATS = (LOG.format,)
