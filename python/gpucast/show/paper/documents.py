"""Compares a machine's own measurements with the tables of the source documents.

Each published value is matched with the machine's value of the same quantity, if it was measured:

- A transfer is matched by route, kind of host memory and size. If the document does not state the
  memory, pageable memory is assumed. The documents timed calls, so calls are preferred to gated
  copies. A size that the machine did not measure is taken from its fitted curve, within the
  measured range; ``basis`` tells which.
- Concurrent copies are matched with a set of the same shape (number of copies, whether the reverse
  of the timed copy is among them, number of copies on other devices); time is scaled to the bytes.
- Loops over host memory are matched by ``_PATTERNS`` and ``_PHASES``; document 3's arrays have
  50,000,000 bytes, and times are scaled to the bytes. Its phase "all" is left out, because it
  includes the start of CUDA and the release of memory, which gpucast-microbench does not time.

No document has a table of launches or overlaps.
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

# Our phases, each with its runner (None: any), that add up to document 3's runner and phase. Copies
# are one array in each direction on both sides.
_PHASES: dict[tuple[str, str], tuple[tuple[str | None, str], ...]] = {
    ("gpu_copy_only", "copy"): ((None, "copy"),),
    ("gpu", "copy_and_kernel"): ((None, "copy"), ("gpu", "loop")),
    ("cpu", "loop"): (("cpu", "loop"),),
    ("cpu", "copy_and_loop"): ((None, "copy"), ("cpu", "loop")),
}
# Kernels access these kinds directly: document 3's copy of them moves nothing.
_MAPPED = ("mapped", "mapped-write-combined")

# These routes do not use host memory, whatever a record states.
_WITHOUT_HOST = ("peer", "local")

_METHODS = ("call", "gated", None)


@dataclass(frozen=True)
class Beside:
    """A published value and the machine's own.

    Attributes:
        document, machine: the dataset, and the machine on which it was measured.
        what: description of the copy or loop.
        bytes: size of the copy, or of each array.
        published, own: median times (s); ``own`` is scaled to the published bytes.
        basis: origin of ``own``: measured, fitted, or in proportion.
        way: description of the machine's series that was used.
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
        """Published over own time; above 1, this machine is faster."""
        return self.published / self.own


def beside_documents(data: Dataset, documents: Sequence[str] | None = None) -> list[Beside]:
    """Return every published value for which the machine of ``data`` has its own.

    Args:
        data: transfers or host-memory records of one machine.
        documents: names of bundled datasets; by default all with such tables.

    Raises:
        InputError: a document does not exist, or the records are of several machines or not
            comparable.
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
    """The machine's transfers; each series is fitted when it is first needed."""

    def __init__(self, data: Dataset) -> None:
        self._series = [series for series in series_of(data) if series.way.engine == "copy"]
        self._fits: dict[int, SeriesFit] = {}
        self.together = [t for t in data.transfers if t.concurrent and t.valid and not t.cold]

    def alone(self, record: Transfer) -> tuple[float, str, str] | None:
        """Return the time of a copy (s), its basis, and the label of the most similar series, of
        several the one with the most sizes; None outside the measured sizes."""
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
    """Return the number of concurrent copies, whether the reverse copy is among them, and the
    number of copies on other devices."""
    ends = {record.from_, record.to}
    reverse = any((c.from_, c.to) == (record.to, record.from_) for c in record.concurrent)
    elsewhere = sum(not ends & {c.from_, c.to} for c in record.concurrent)
    return len(record.concurrent), reverse, elsewhere


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
    """Return the time per byte of each array (s); copies do not depend on the pattern."""
    times = [
        statistics.median(record.seconds) / record.bytes
        for record in own
        if record.bytes is not None
        and (record.memory, record.phase) == (memory, phase)
        and (phase == "copy" or record.pattern == pattern)
        and runner in (None, record.runner)
    ]
    return statistics.median(times) if times else None
