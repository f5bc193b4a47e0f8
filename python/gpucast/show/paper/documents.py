"""A machine's own measurements beside the tables of the source documents.

Each published figure gets the machine's figure of the same thing, as far as it was measured:

- a transfer: the same route, kind of host memory and size. Where the document does not say which
  memory, a caller's pageable memory is assumed; where the machine did not measure that kind, there
  is no figure. The documents timed calls, so calls are taken before gated copies. A size that the
  machine did not measure is read off its fitted curve, within the sizes measured; the answer says
  which (``basis``);
- copies at the same time: a set of the same shape (how many copies, the reverse of the timed one
  among them or not, the others on other devices), the time in proportion to the bytes;
- loops over host memory: document 3's words are mapped in ``_PATTERNS`` and ``_PHASES``, its arrays
  have 50,000,000 bytes, and times are taken in proportion to the bytes. Its phase "all" includes
  the start of CUDA and the release of memory, which gpucast-microbench does not time: left out.

Launches and overlaps stand in no document's table.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from gpucast.data.dataset import Dataset
from gpucast.data.loading import load
from gpucast.data.records import HostMemory, Transfer
from gpucast.errors import InputError
from gpucast.paths.curves import FEWEST_SIZES
from gpucast.paths.series import SeriesFit, fit_series, series_of

TRANSFER_TABLES = (
    "p2p-copy",
    "bandwidthtest-gtx480",
    "copy-timed-2012",
    "dscuda",
    "pcie-contention-cirrascale",
)
HOST_MEMORY_TABLES = ("host-memory-gtx480",)

_PATTERNS = {"simple": "sequential", "indirect": "indirect", "indirect_random": "random"}
_ARRAY_BYTES = 50_000_000

# Document 3's runner and phase: the phases of ours that make it up, each with its runner (None:
# whichever made it). Copies are one array up and one down on both sides.
_PHASES: dict[tuple[str, str], tuple[tuple[str | None, str], ...]] = {
    ("gpu_copy_only", "copy"): ((None, "copy"),),
    ("gpu", "copy_and_kernel"): ((None, "copy"), ("gpu", "loop")),
    ("cpu", "loop"): (("cpu", "loop"),),
    ("cpu", "copy_and_loop"): ((None, "copy"), ("cpu", "loop")),
}
# The kernel reaches these itself: what document 3 calls a copy there moves nothing.
_MAPPED = ("mapped", "mapped-write-combined")

# Host memory has no part in these, whatever a record says of it.
_WITHOUT_HOST = ("peer", "local")

_METHODS = ("call", "gated", None)


@dataclass(frozen=True)
class Beside:
    """A published figure and the machine's own.

    Attributes:
        document, machine: the dataset, and the machine it was measured on.
        what: the copy or loop, in words.
        bytes: of the copy, or of each array.
        published, own: median s; ``own`` in proportion to the published bytes.
        basis: how ``own`` was come by: measured, fitted, or in proportion.
        way: the machine's way that was taken, in words.
    """

    document: str
    machine: str
    what: str
    bytes: int
    published: float
    own: float
    basis: str
    way: str

    @property
    def ratio(self) -> float:
        """Published over own: above 1, this machine is faster."""
        return self.published / self.own


def beside_documents(data: Dataset, documents: Sequence[str] | None = None) -> list[Beside]:
    """Every published figure that the machine of ``data`` has a figure for.

    Args:
        data: transfers or host-memory records of one machine.
        documents: names of bundled datasets; by default all that hold such tables.

    Raises:
        InputError: no such document, records of several machines, or of nothing comparable.
    """
    known = (*TRANSFER_TABLES, *HOST_MEMORY_TABLES)
    for name in documents or ():
        if name not in known:
            raise InputError(f"{name!r} is no such table; there are: {', '.join(known)}")
    machines = list(dict.fromkeys(r.machine for r in (*data.transfers, *data.host_memory)))
    if not machines:
        raise InputError("there are no transfers and no host-memory records", file=data.name)
    if len(machines) > 1:
        raise InputError(
            f"there are several: {', '.join(machines)}; choose one with --machine",
            file=data.name,
            field="machine",
        )
    wanted = documents or known
    own = _Own(data)
    result: list[Beside] = []
    for name in known:
        if name in wanted:
            published = load(name)
            result += _transfers(name, published.transfers, own)
            result += _host_memory(name, published.host_memory, data.host_memory)
    return result


class _Own:
    """The machine's transfers, each way fitted once, when it is first needed."""

    def __init__(self, data: Dataset) -> None:
        self._series = [series for series in series_of(data) if series.way.engine == "copy"]
        self._fits: dict[int, SeriesFit] = {}
        self.together = [t for t in data.transfers if t.concurrent and t.valid and not t.cold]

    def alone(self, record: Transfer) -> tuple[float, str, str] | None:
        """Seconds of a copy, how they are known, and the machine's way that is most like its own;
        None outside the sizes measured. Among equally similar ways, the one with the most sizes."""
        memory = "pageable" if record.memory == "unknown" else record.memory
        similar = [
            series
            for series in self._series
            if series.way.route == record.route
            and (record.route in _WITHOUT_HOST or series.way.memory == memory)
        ]
        if not similar:
            return None
        series = min(similar, key=lambda s: (_METHODS.index(s.way.method), -len(s.samples)))
        samples, label = series.samples, series.way.label
        if record.bytes in samples:
            return statistics.median(samples[record.bytes]), "measured", label
        if len(samples) < FEWEST_SIZES or not min(samples) < record.bytes < max(samples):
            return None
        fitted = self._fits.get(id(series)) or fit_series(series)
        self._fits[id(series)] = fitted
        return float(fitted.seconds(np.array([float(record.bytes)]))[0]), "fitted", label


def _transfers(name: str, published: Iterable[Transfer], own: _Own) -> list[Beside]:
    result = []
    for record in published:
        if record.cold or not record.valid:
            continue
        match = _at_once(record, own.together) if record.concurrent else own.alone(record)
        if match is not None:
            seconds = statistics.median(record.seconds)
            what = _copy_in_words(record)
            result.append(Beside(name, record.machine, what, record.bytes, seconds, *match))
    return result


def _at_once(record: Transfer, together: Sequence[Transfer]) -> tuple[float, str, str] | None:
    shape = _shape(record)
    for own in together:
        if own.route == record.route and own.engine == record.engine and _shape(own) == shape:
            seconds = statistics.median(own.seconds) * record.bytes / own.bytes
            return seconds, f"in proportion, from {own.bytes} B", _copy_in_words(own)
    return None


def _shape(record: Transfer) -> tuple[int, bool, int]:
    """How many copies are beside it, whether its reverse is, and how many on other devices."""
    ends = {record.from_, record.to}
    reverse = any((c.from_, c.to) == (record.to, record.from_) for c in record.concurrent)
    apart = sum(not ends & {c.from_, c.to} for c in record.concurrent)
    return len(record.concurrent), reverse, apart


def _copy_in_words(record: Transfer) -> str:
    words = [record.path if record.path != "native" else "", record.route]
    words += [record.memory if record.memory != "unknown" else ""]
    if record.concurrent:
        words.append(f"{record.from_}>{record.to} beside")
        words.append(", ".join(f"{c.from_}>{c.to}" for c in record.concurrent))
    return " ".join(filter(None, words))


def _host_memory(
    name: str, published: Iterable[HostMemory], own: Sequence[HostMemory]
) -> list[Beside]:
    result = []
    for record in published:
        pattern = _PATTERNS.get(record.pattern, record.pattern)
        needed = _PHASES.get((record.runner, record.phase), ())
        if record.memory in _MAPPED:
            needed = tuple(part for part in needed if part[1] != "copy")
        parts = [_per_byte(own, record.memory, pattern, *part) for part in needed]
        known = [seconds for seconds in parts if seconds is not None]
        if not parts or len(known) < len(parts):
            continue
        what = f"{record.memory}, {pattern}, {record.runner} {record.phase}".replace("_", " ")
        seconds = statistics.median(record.seconds), sum(known) * _ARRAY_BYTES
        way = " + ".join(" ".join(filter(None, part)) for part in needed)
        ours = "in proportion", way
        result.append(Beside(name, record.machine, what, _ARRAY_BYTES, *seconds, *ours))
    return result


def _per_byte(
    own: Sequence[HostMemory], memory: str, pattern: str, runner: str | None, phase: str
) -> float | None:
    """Seconds a byte of each array; copies do not depend on the pattern."""
    times = [
        statistics.median(record.seconds) / record.bytes
        for record in own
        if record.bytes is not None
        and (record.memory, record.phase) == (memory, phase)
        and (phase == "copy" or record.pattern == pattern)
        and runner in (None, record.runner)
    ]
    return statistics.median(times) if times else None
