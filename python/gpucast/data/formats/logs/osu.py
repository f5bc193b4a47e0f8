"""OSU micro-benchmarks: times over message sizes, imported as steps of n bytes.

Latencies are microseconds of one way, bandwidths 1e6 bytes a second of messages sent one after
the other; both become seconds a message. Point-to-point tests have two processes; collectives do
not say how many. A CUDA or ROCm build in the title does not mean that the buffers were on GPUs:
that says the line ``Send Buffer on DEVICE (D)``.

Source: util/osu_util.c of the OSU micro-benchmarks; published outputs.
"""

from __future__ import annotations

import re

from gpucast.data.formats.logs import runs
from gpucast.data.formats.logs.runs import Found, Run
from gpucast.util.remarks import Kind, remark

_TITLE = re.compile(
    r"# OSU (?P<build>MPI(?:-(?P<device>CUDA|ROCM|SYCL|OPENACC))?|NCCL|RCCL|XCCL|OpenSHMEM|UPC\S*)"
    r"(?P<device2>-CUDA|-ROCM)? (?P<test>[^\n]*?)(?: Test)? v(?P<version>[0-9.]+[0-9])"
)
_COLUMNS = re.compile(r"# Size +(?P<what>(?:Avg )?Latency ?\(us\)|Bandwidth \(MB/s\))[^\n]*")
_BUFFERS = re.compile(
    r"Send Buffer on \w+ \((?P<send>[A-Z]+)\) and Receive Buffer on \w+ \((?P<receive>[A-Z]+)\)"
)
_DATATYPE = re.compile(r"# Datatype: (?P<type>\w+)")
_ROW = re.compile(r"^(?P<size>[0-9]+)[ \t]+(?P<value>[0-9.]+)(?=[ \t\n])[^\n]*\n", re.MULTILINE)
_TWO_SIDED = {"latency", "bandwidth", "bi-directional bandwidth", "multi-threaded latency"}


def detect(text: str) -> bool:
    """Whether an OSU micro-benchmark printed it."""
    return _TITLE.search(text) is not None


def parse(text: str) -> Found:
    """A run for each size of each test in the text."""
    found = Found()
    lines = runs.Lines(text)
    for number, (begin, part) in enumerate(runs.executions(text, _TITLE)):
        title, columns = _TITLE.search(part), _COLUMNS.search(part)
        if title is None:
            continue
        rows = list(_ROW.finditer(part, columns.end())) if columns else []
        if columns is None or not rows:
            found.unfinished.append(lines.of(begin + title.start()))
            continue
        test = title["test"].strip()
        gpus, path, where = _devices(title, part, test)
        if where is None and gpus is not None:
            text = "does not say whether buffers were on the host or on GPUs"
            found.remarks.append(remark(Kind.LACKS, text, about="buffers"))
        datatype = _DATATYPE.search(part)
        words = [title["version"], datatype["type"] if datatype else None, where]
        for row in rows:
            value, size = runs.decimal(row["value"]), int(row["size"])
            if not value or not size:
                continue
            rate = columns["what"].startswith("Bandwidth")
            found.runs.append(
                Run(
                    program=f"OSU {title['build']}{title['device2'] or ''} {test}",
                    line=lines.of(begin + row.start()),
                    seconds=(size / (value * 1e6) if rate else value / 1e6,),
                    uncertainty=runs.rounding(row["value"]),
                    n=size,
                    unit="B",
                    gpus=gpus,
                    unclear="" if gpus else f"{test!r} does not say how many processes took part",
                    path=path,
                    ranks=gpus,
                    case=", ".join(word for word in words if word),
                    execution=number,
                    more=runs.unshared(f"OSU {test}"),
                )
            )
    return found


def _devices(
    title: re.Match[str], part: str, test: str
) -> tuple[int | None, str | None, str | None]:
    """Processes, the path of those without GPUs, and where the buffers are."""
    gpus = 2 if test.lower() in _TWO_SIDED else None
    buffers = _BUFFERS.search(part)
    if buffers is not None:
        where = f"buffers {buffers['send']} {buffers['receive']}"
        return gpus, runs.HOST if where == "buffers H H" else None, where
    if title["device"] or title["device2"] or title["build"].endswith("CCL"):
        return gpus, None, None
    return gpus, runs.HOST, "buffers H H"


FORMATS = (runs.log_format("osu", "OSU micro-benchmarks", detect, parse),)
