"""Plots of the source documents' tables, with a machine's own measurements if it has any.

There is one plot for each table: copies between GPUs, copies over DS-CUDA, copies of one size,
copies that share links, and kinds of host memory. Titles name the document and the GPUs; captions
state the source of the numbers. ``paper.documents`` matches a machine's measurements with published
ones.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gpucast.data.dataset import Dataset
from gpucast.data.loading import load
from gpucast.data.records import Transfer
from gpucast.paths.curves import Array
from gpucast.paths.series import Series, series_of
from gpucast.show.paper.documents import Beside, beside_documents
from gpucast.show.plots import style

Draw = Callable[[], Figure]

OWN_COLOUR = style.COLOURS[6]
"""A machine's own measurements are black, published ones coloured."""

PUBLISHED = "published"
"""Group id of the points of published values."""
OWN_MARK: dict[str, Any] = {
    "marker": style.marker(2),
    "color": OWN_COLOUR,
    "mec": "white",
    "mew": 0.6,
    "ms": 6,
    "lw": 0,
}

_PUBLISHED_MARK: dict[str, Any] = {"ls": "none", "ms": 5, "mew": 1.0}

_GPUS = {
    "tesla-c2050": "Tesla C2050",
    "geforce-gtx580": "GeForce GTX 580",
    "geforce-gtx480": "GeForce GTX 480",
    "geforce-gtx460-wddm": "GeForce GTX 460 (WDDM)",
    "quadro-4000-tcc": "Quadro 4000 (TCC)",
}


def figures_of_documents(own: Dataset | None) -> dict[str, Draw]:
    """Return the functions that draw the tables, by file name.

    Args:
        own: transfers and host memory of one machine for comparison, or None.

    Raises:
        InputError: the records are of several machines.
    """
    return {
        "document-p2p-copy": partial(copies_between_gpus, own),
        "document-dscuda-transfer": partial(copies_over_networks, own),
        "document-copies": partial(copies_of_one_size, own),
        "document-contention": partial(copies_at_once, own),
        "document-host-memory": partial(host_memory, own),
    }


def own_name(own: Dataset) -> str:
    """Return the GPU of the machine that is compared."""
    gpus = [gpu.name for machine in own.machines.values() for gpu in machine.gpus or []]
    return gpus[0] if gpus else next(iter(own.machines), "this machine")


def _caption(source: str, own: Dataset | None, how: str = "", how_own: str = "") -> str:
    """Return a caption with the source of the numbers; ``how_own`` is about the machine's own."""
    mine = "" if own is None else f"Black: own measurements, {own_name(own)}. {how_own}"
    return " ".join(filter(None, (f"Published numbers: {source}.", how, mine.strip())))


# --- bandwidth against size ------------------------------------------------------------------


@dataclass(frozen=True)
class _Curve:
    label: str
    points: dict[int, tuple[float, float]]
    """Median time (s) and relative half-width of its rounding, by size (bytes)."""
    at: int
    """Index of its mark and, for a published one, of its colour."""
    own: bool = False


def _published(transfers: Iterable[Transfer], label: str, at: int) -> _Curve:
    points = {
        t.bytes: (statistics.median(t.seconds), t.uncertainty or 0.0)
        for t in transfers
        if t.valid and not t.cold and not t.concurrent
    }
    return _Curve(label, points, at)


def _rounding(data: Dataset) -> str:
    """Return the largest relative half-width of the rounding of printed times."""
    return f"{100 * max(copy.uncertainty or 0.0 for copy in data.transfers):.0f} %"


def _own_curve(own: Dataset | None, route: str, memory: str | None, at: int) -> list[_Curve]:
    """Return the curve of the machine's blocking copies with the most sizes, if it has any."""
    if own is None:
        return []
    candidates: list[Series] = [
        series
        for series in series_of(own)
        if (series.way.route, series.way.engine) == (route, "copy")
        and series.way.method in ("call", None)
        and series.way.path in ("native", "local")
        and memory in (None, series.way.memory)
    ]
    if not candidates:
        return []
    best = max(candidates, key=lambda series: len(series.samples))
    points = {size: (statistics.median(s), 0.0) for size, s in sorted(best.samples.items())}
    words = route if memory is None else f"{route}, {memory}"
    return [_Curve(f"{own_name(own)}: {words}", points, at, own=True)]


def _draw_rates(axes: Axes, curves: Sequence[_Curve]) -> None:
    for curve in curves:
        sizes = np.array(list(curve.points), dtype=float)
        seconds, rounding = np.array(list(curve.points.values())).T
        # A time with a single significant digit may be off by a factor of two.
        _draw_curve(axes, curve, sizes, sizes / seconds, np.minimum(rounding, 0.999))
    style.log_axes(axes, "size of the copy", "")
    style.byte_axis(axes)
    style.si_axis(axes.yaxis, "B/s")


def _draw_curve(axes: Axes, curve: _Curve, x: Array, y: Array, rounding: Array) -> None:
    colour = OWN_COLOUR if curve.own else style.COLOURS[curve.at]
    low, high = y / (1 + rounding), y / (1 - rounding)
    axes.fill_between(x, low, high, color=colour, alpha=style.BAND_ALPHA, lw=0)
    look = style.look(curve.at) | {"lw": 0.9, "ms": 2.8, "mew": 0.6, "color": colour}
    axes.plot(x, y, label=curve.label, markevery=2 if curve.own else 1, **look)


@style.styled
def copies_between_gpus(own: Dataset | None) -> Figure:
    """Draw document 2: bandwidth of peer and staged copies between GPUs against size, and their
    ratio below."""
    data = load("p2p-copy")
    figure, (upper, lower) = style.panels(
        2, len(data.machines),
        "Copies between two GPUs, peer-to-peer and staged through the host",
        _caption("HPC Systems Inc. (Speed of peer access with GPUDirect)", own,
                 f"Printed times are rounded by {_rounding(data)} at most.",
                 "Staged: pinned memory."),
        sharex=True, sharey="row", height=2.0,
    )  # fmt: skip
    mine = [*_own_curve(own, "peer", None, 2), *_own_curve(own, "staged", "pinned", 3)]
    for axes, below, machine in zip(upper, lower, data.machines, strict=True):
        records = [t for t in data.transfers if t.machine == machine]
        curves = [
            _published((t for t in records if t.route == route), route, at)
            for at, route in enumerate(("peer", "staged"))
        ]
        _draw_rates(axes, [*curves, *mine])
        for pair in (curves, mine):
            if len(pair) == 2:
                _draw_ratio(below, pair[0], pair[1])
        axes.set_xlabel("")
        axes.set_title(_GPUS.get(machine, machine))
    upper[0].set_ylabel("bandwidth")
    lower[0].set_ylabel("peer over staged")
    figure.legend(*upper[0].get_legend_handles_labels(), loc="outside right center")
    return figure


def _draw_ratio(axes: Axes, peer: _Curve, staged: _Curve) -> None:
    sizes = [size for size in peer.points if size in staged.points]
    one, other = (np.array([curve.points[size] for size in sizes]).T for curve in (peer, staged))
    rounding = np.minimum(0.999, one[1] + other[1])
    _draw_curve(axes, peer, np.array(sizes), other[0] / one[0], rounding)
    axes.axhline(1, color="black", lw=0.6)
    axes.set_yscale("log")
    axes.set_yticks([0.5, 1, 2, 5, 10], ["0.5", "1", "2", "5", "10"])
    style.plain_minor_ticks(axes)
    axes.set_xlabel("size of the copy")
    style.byte_axis(axes)
    style.grid(axes)


@style.styled
def copies_over_networks(own: Dataset | None) -> Figure:
    """Draw DS-CUDA's table: bandwidth of copies to and from a remote GPU against size."""
    data = load("dscuda")
    figure, (row,) = style.panels(
        1, 2,
        "Copies to and from a remote GPU through DS-CUDA"
        + ("" if own is None else ", beside native ones"),
        _caption("user guide of DS-CUDA 1.0.9 (2012), GeForce GTX 280", own,
                 f"Printed rates are rounded by {_rounding(data)} at most.",
                 "They are native, of pageable and pinned memory."),
        sharey=True, height=2.7,
    )  # fmt: skip
    words = {"infiniband": "InfiniBand", "ethernet100": "Ethernet, 100 Mbit/s"}
    for axes, route in zip(row, ("h2d", "d2h"), strict=True):
        records = [t for t in data.transfers if t.route == route]
        curves = [
            _published((t for t in records if t.path == path), label, at)
            for at, (path, label) in enumerate(words.items())
        ]
        for at, memory in enumerate(("pageable", "pinned")):
            curves += _own_curve(own, route, memory, 2 + at)
        _draw_rates(axes, curves)
        axes.set_title("host to GPU (h2d)" if route == "h2d" else "GPU to host (d2h)")
    row[0].set_ylabel("bandwidth")
    handles, labels = row[0].get_legend_handles_labels()
    figure.legend(
        handles, [label.replace(" h2d,", "") for label in labels], loc="outside right center"
    )
    return figure


# --- points of kinds -------------------------------------------------------------------------


def _beside(own: Dataset | None, name: str) -> list[Beside]:
    return [] if own is None else beside_documents(own, [name])


def _point(axes: Axes, x: float, height: float, at: int) -> None:
    """Draw a published value as a point: bars are meaningless on a logarithmic axis."""
    axes.plot(x, height, **style.look(at) | _PUBLISHED_MARK, gid=PUBLISHED)


def _kinds_axes(axes: Axes, labels: Sequence[str], unit: str, places: Sequence[float] = ()) -> None:
    axes.set_xticks(places or range(len(labels)), labels)
    style.si_axis(axes.yaxis, unit)
    style.grid(axes)
    axes.grid(visible=False, axis="x")


def _kinds_key(figure: Figure, labels: Iterable[str], own: Dataset | None) -> None:
    entries = [(label, style.look(at) | _PUBLISHED_MARK) for at, label in enumerate(labels)]
    entries += [] if own is None else [(own_name(own), OWN_MARK | {"mec": None, "ms": 5})]
    figure.legend(handles=style.handles(entries), loc="outside right center")


@style.styled
def copies_of_one_size(own: Dataset | None) -> Figure:
    """Draw documents 3 and 4: copies to and from a GPU by kind of host memory, at one size."""
    groups = []
    for name in ("copy-timed-2012", "bandwidthtest-gtx480"):
        data, known = load(name), _beside(own, name)
        for machine in data.machines:
            records = [t for t in data.transfers if t.machine == machine and t.route != "local"]
            groups.append((_GPUS.get(machine, machine), records, known))
    figure, (row,) = style.panels(
        1, len(groups), "Copies of one size, by kind of host memory",
        _caption("N. Kopp (2012), copies of 256 MiB (left, middle); bandwidthTest of CUDA SDK 3.0 "
                 "(2010), 32 MiB (right)", own),
        sharey=True, height=2.4,
    )  # fmt: skip
    for axes, (title, records, known) in zip(row, groups, strict=True):
        memories = list(dict.fromkeys(record.memory for record in records))
        for record in records:
            way = ("h2d", "d2h").index(record.route)
            x = memories.index(record.memory) + 0.4 * way - 0.2
            seconds = statistics.median(record.seconds)
            _point(axes, x, record.bytes / seconds, way)
            for pair in known:
                published = (record.machine, seconds, record.bytes)
                if (pair.machine, pair.published, pair.bytes) == published:
                    axes.plot(x, pair.bytes / pair.own, **OWN_MARK)
        axes.set_yscale("log")
        axes.margins(x=0.1)
        _kinds_axes(axes, memories, "B/s")
        axes.set_title(title)
    low, high = row[0].get_ylim()
    row[0].set_ylim(min(low, 1e9), high * 1.3)
    row[0].set_ylabel("bandwidth")
    _kinds_key(figure, ("host to GPU", "GPU to host"), own)
    return figure


@style.styled
def copies_at_once(own: Dataset | None) -> Figure:
    """Draw document 5: bandwidth of pairs of GPUs that copy both ways, alone and beside a pair."""
    name = "pcie-contention-cirrascale"
    known = _beside(own, name)
    figure, axes = style.one(
        "Copies between pairs of GPUs, both ways at once",
        _caption("Cirrascale GB5470, eight GPUs behind two PCIe switches; pairs 0-4 and 1-5 share "
                 "links, pair 2-3 does not", own,
                 how_own="They are of one pair of its GPUs, and of two pairs at once."),
        width=5.0, height=2.6,
    )  # fmt: skip
    experiments: dict[str, list[Transfer]] = {}
    for record in load(name).transfers:
        words = (record.caveat or "").split(";")[0].removeprefix("experiment ")
        experiments.setdefault(words, []).append(record)
    places: list[float] = []
    labels, x = [], 0.0
    for at, records in enumerate(experiments.values()):
        for record in records:
            seconds = statistics.median(record.seconds)
            rate = record.bytes / seconds
            _point(axes, x, rate, at)
            if record.uncertainty:
                axes.errorbar(x, rate, record.uncertainty * rate, color="black", lw=0.8)
            timed = f"{record.route} {record.from_}>{record.to} "
            for pair in known:
                if pair.published == seconds and pair.what.startswith(timed):
                    axes.plot(x, pair.bytes / pair.own, **OWN_MARK)
            places.append(x)
            labels.append(f"{record.from_[3:]}>{record.to[3:]}")
            x += 1
        x += 0.8
    axes.set_xlabel("timed copy, GPU > GPU")
    axes.set_ylabel("bandwidth of each copy")
    if known:
        axes.set_yscale("log")
    axes.set_ylim(bottom=1e9 if known else 0)
    _kinds_axes(axes, labels, "B/s", places)
    _kinds_key(figure, experiments, own)
    return figure


_PANELS = {"gpu copy and kernel": "copy and GPU kernel", "cpu loop": "the same loop on the CPU"}
_PATTERN_WORDS = {"simple": "sequential", "indirect_random": "random"}


@style.styled
def host_memory(own: Dataset | None) -> Figure:
    """Draw document 3: times by kind of host memory and access pattern, for GPU and CPU."""
    name = "host-memory-gtx480"
    records, known = load(name).host_memory, _beside(own, name)
    memories = list(dict.fromkeys(record.memory for record in records))
    patterns = {p: _PATTERN_WORDS.get(p, p) for p in (record.pattern for record in records)}
    figure, (row,) = style.panels(
        1, len(_PANELS), "Host memory by kind and access pattern, arrays of 50 MB",
        _caption("On the performance of CUDA page-locked host memory (2010), GeForce GTX 480, one "
                 "run each", own, how_own="They are in proportion to the bytes."),
        sharey=True, height=2.7,
    )  # fmt: skip
    for axes, (phase, words) in zip(row, _PANELS.items(), strict=True):
        for record in records:
            if f"{record.runner} {record.phase}".replace("_", " ") != phase:
                continue
            at = list(patterns).index(record.pattern)
            x = memories.index(record.memory) + 0.27 * (at - 1)
            _point(axes, x, statistics.median(record.seconds), at)
            for pair in known:
                if pair.what == f"{record.memory}, {patterns[record.pattern]}, {phase}":
                    axes.plot(x, pair.own, **OWN_MARK)
        axes.set_yscale("log")
        _kinds_axes(axes, [memory.replace("-", "-\n") for memory in memories], "s")
        axes.set_title(words)
    row[0].set_ylabel("time")
    _kinds_key(figure, patterns.values(), own)
    return figure
