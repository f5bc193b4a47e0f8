"""Units of step times and rates as people write them, and their conversion to seconds a step."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from gpucast.data.formats.tables.numbers import Clock, parse_clock

_SECONDS = {
    1.0: "s sec secs second seconds",
    1e-3: "ms msec msecs millisec millisecs millisecond milliseconds",
    1e-6: "us usec usecs microsec microsecs microsecond microseconds",
    1e-9: "ns nsec nanosec nanosecond nanoseconds",
    60.0: "min mins minute minutes",
    3600.0: "h hr hrs hour hours",
    86400.0: "d day days",
}
_WALL = {word: size for size, words in _SECONDS.items() for word in words.split()}
_MODEL_TIME = {"sypd": 365 * 86400.0, "sdpd": 86400.0}
"""Simulated years and days per day of climate models (s)."""
_SIMULATED = {"fs": 1e-15, "ps": 1e-12, "ns": 1e-9, "us": 1e-6}
_LONG = {word for word, size in _WALL.items() if size >= 60}
_STEPS = {
    word + plural
    for word in ("step", "timestep", "iteration", "iter", "it")
    for plural in ("", "s")
} | {"batch", "batches"}
_PREFIXES = {"k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}

COUNTED = {
    word: plural.replace("_", " ")
    for plural in (
        "atoms", "particles", "cells", "beads", "molecules", "ions", "sites", "points",
        "grid_points", "zones", "elements", "dofs", "unknowns", "rows", "samples", "images",
        "tokens", "sequences", "examples", "parameters", "basis_functions", "lups",
    )
    for word in (plural, plural.removesuffix("s"))
} | {"img": "images", "imgs": "images", "seq": "sequences", "seqs": "sequences"}  # fmt: skip
"""Things that sizes count, by singular and plural."""

_OF_RATES = COUNTED | {"tok": "tokens", "toks": "tokens", "ex": "examples", "sents": "sentences",
                       "words": "words"}  # fmt: skip
"""Things that rates count, also by abbreviations."""


_GERMAN = {
    "atome": "atoms", "teilchen": "particles", "zellen": "cells", "moleküle": "molecules",
    "gitterpunkte": "grid_points", "elemente": "elements", "freiheitsgrade": "dofs",
    "zeilen": "rows", "grösse": "size", "systemgrösse": "system_size",
    "problemgrösse": "problem_size", "anzahl": "number_of", "knoten": "nodes",
    "rechner": "machine", "programm": "program", "lauf": "run", "bemerkung": "remark",
    "bemerkungen": "remarks", "schritt": "step", "schritte": "steps", "zeitschritt": "timestep",
    "sek": "sec", "millisek": "millisec", "millisekunde": "millisecond",
    "millisekunden": "milliseconds", "mikrosek": "microsec", "mikrosekunde": "microsecond",
    "mikrosekunden": "microseconds", "zeit": "time", "schrittzeit": "step_time",
    "sekunde": "second", "sekunden": "seconds",
    "zustand": "state", "zeitschritte": "timesteps", "laufzeit": "run_time",
    "gesamtzeit": "total_time", "wanduhrzeit": "wall_time", "dauer": "duration",
    "beschleuniger": "accelerator", "grafikkarte": "gpu_type", "typ": "type", "modell": "model",
    "minuten": "minutes", "stunde": "hour", "stunden": "hours", "tag": "day", "tage": "days",
}  # fmt: skip
"""Words in the column names of German spreadsheets; ``ß`` is compared as ``ss``."""


RATE_OF_WORK = 3
"""The rank of units of work per second, which need the size of a step."""


@dataclass(frozen=True)
class Unit:
    """A unit of times or of their inverse.

    Attributes:
        name: as the column writes it: ``ms``, ``ns/day``.
        seconds: seconds a step of ``(value, n, timestep)``.
        needs_timestep: whether seconds depend on the simulated time of a step.
        share: ``gpus`` or ``ranks`` if the rate is that of one GPU or rank, ``n`` if it is that of
            its share of the work.
        clock: how times with colons are read; None for other units.
        rank: if a table has several units, the one of lowest rank is taken: times, then rates of
            steps, of work, of simulated time. Later ones need more information.
    """

    name: str
    seconds: Callable[[float, float, float], float]
    needs_timestep: bool = False
    rank: int = 1
    share: str | None = None
    clock: Clock | None = None


LONGEST_NAME = 200
"""Longest name of a column (characters); longer text is prose."""


def normalized(text: str) -> str:
    """Return a column's name in the form for comparison: English, lower case, words (``BatchSize``
    has two) joined by ``_``, ``per`` and ``pro`` as ``/``, cut to a maximum length."""
    text = re.sub("(?<=[a-z])(?=[A-Z][a-z]{2})", "_", text.strip()[:LONGEST_NAME])
    text = text.casefold().replace("µ", "u").replace("μ", "u")
    text = re.sub(r"[a-zäöü]+", lambda word: _GERMAN.get(word[0], word[0]), text)
    text = re.sub(r"[\s_-]+", "_", text)
    return re.sub(r"_?(?:_per_|_pro_|/)_?", "/", text).strip("_")


def parse_unit(text: str) -> Unit | None:
    """Return the unit named by a text: ``ms``, ``s/step``, ``ns/day``, ``hours/ns``, ``steps/s``,
    ``samples/s``, ``Matom-steps/s``; None if it names no unit."""
    name = normalized(text)
    if name in ("mlups", "glups", "klups", "lups", "mlup/s", "glup/s"):
        name = name.removesuffix("/s").rstrip("s") + "s/s"
    if name in _MODEL_TIME:
        wall = _WALL["d"] / _MODEL_TIME[name]
        return Unit(name, lambda value, n, timestep: timestep * wall / value, True, 4)
    above, slash, below = name.partition("/")
    if slash:
        above = _OF_RATES.get(above, above)
        name = f"{above}/{below}"
    below = re.sub("^wall_?", "", below)
    if not slash or (above in _WALL and below in _STEPS):
        return _time(above)
    if below in _WALL and above in _STEPS:
        wall = _WALL[below]
        return Unit(name, lambda value, n, timestep: wall / value, rank=2)
    if above in _SIMULATED and below in _LONG | {"s"}:
        wall = _WALL[below] / _SIMULATED[above]
        return Unit(name, lambda value, n, timestep: timestep * wall / value, True, 4)
    if above in _WALL and below in _SIMULATED:
        wall = _WALL[above] / _SIMULATED[below]
        return Unit(name, lambda value, n, timestep: value * timestep * wall, True, 4)
    scale = _work_scale(above)
    if below in _WALL and scale is not None:
        wall = _WALL[below] / scale
        return Unit(name, lambda value, n, timestep: n * wall / value, rank=RATE_OF_WORK)
    return None


_BEHIND = re.compile(r"(?P<digits>.*?[0-9][.,]?) ?(?P<unit>[^\W\d_][^\d]{0,20})")


def with_unit(text: str) -> tuple[str, Unit | None]:
    """Return the digits and the unit of ``12.5 ms``, ``3 ns/day``; None without a unit."""
    match = _BEHIND.fullmatch(text)
    unit = parse_column_unit(match["unit"]) if match else None
    return (match["digits"], unit) if match and unit else (text, None)


_PIECE = re.compile(r"([0-9]+(?:[.,][0-9]+)?)\s*([a-zµμ]+)[.,]?\s*")


def spelled_time(text: str, clock: Clock | None = "m:s") -> float | None:
    """Return the seconds of ``7min 46sec 155msec``, ``3m12.45s``, ``1 day, 2:03:04``, ``02:03``;
    None for other texts."""
    text = text.strip().casefold()
    seconds, at = 0.0, 0
    while (piece := _PIECE.match(text, at)) is not None:
        size = _WALL.get(piece[2], 60.0 if piece[2] == "m" else None)
        if size is None:
            return None
        seconds += float(piece[1].replace(",", ".")) * size
        at = piece.end()
    rest = parse_clock(text[at:], clock) if text[at:] else 0.0
    return None if rest is None or not text else seconds + rest


def parse_column_unit(text: str) -> Unit | None:
    """Return the unit named by a column's name, which may also be a rate per GPU: ``img/s/GPU``."""
    word, share = share_in(normalized(text))
    unit = parse_unit(word)
    if unit is None or share is None:
        return unit
    # Only work adds up over GPUs; seconds a step are the same for one and for all.
    return replace(unit, name=normalized(text), share=share) if unit.rank == RATE_OF_WORK else None


_SHARES = {
    "gpus": r"gpu|device|gcd|accelerator|worker|card",
    "ranks": r"(?:mpi_)?(?:rank|process|proc|task)",
}


def share_in(word: str) -> tuple[str, str | None]:
    """Return a normalized name without ``/gpu``, ``per_rank_`` or ``local_``, and ``gpus`` or
    ``ranks`` if it is a quantity of one of these; else None."""
    for share, words in _SHARES.items():
        for pattern in (
            rf"(.*?)_?/(?:each_)?(?:{words})((?:[_/)\]].*)?)",
            rf"()(?:per|pro|je)_(?:each_)?(?:{words})((?:_.*)?)",
            rf"(.+)_je_(?:{words})()",
        ):
            match = re.fullmatch(pattern, word)
            if match is not None:
                return (match[1] + match[2]).strip("_"), share
    local = re.fullmatch(r"(?:local|gpu|device)_(.*batch.*)", word)
    return (local[1], "gpus") if local else (word, None)


_CLOCKS: dict[str, Clock] = {
    "hh:mm:ss": "h:m:s", "h:mm:ss": "h:m:s", "h:m:s": "h:m:s", "d_hh:mm:ss": "h:m:s",
    "[h]:mm:ss": "h:m:s", "[hh]:mm:ss": "h:m:s", "std:mm:ss": "h:m:s", "hms": "h:m:s",
    "mm:ss": "m:s", "m:ss": "m:s", "m:s": "m:s", "[mm]:ss": "m:s", "min:s": "m:s",
    "hh:mm": "h:m", "h:mm": "h:m", "h:m": "h:m", "[h]:mm": "h:m", "[hh]:mm": "h:m",
}  # fmt: skip


def _time(word: str) -> Unit | None:
    size = _WALL.get(word)
    if word in _CLOCKS:
        return Unit(word, lambda value, n, timestep: value, clock=_CLOCKS[word])
    if size is None:
        return None
    short = _SECONDS[size].split()[0]
    if size < 1:
        # Dividing by a whole number rounds once: 310 us become the double nearest to 0.00031.
        return Unit(short, lambda value, n, timestep: value / round(1 / size))
    # Clock times are in seconds.
    clock: Clock | None = "h:m:s" if size == 1 else None
    return Unit(short, lambda value, n, timestep: value * size, clock=clock)


def _work_scale(word: str) -> float | None:
    """Return 1 for ``samples``, 1e6 for ``matom_steps``; None if sizes do not count it."""
    for scale, rest in ((1.0, word), (_PREFIXES.get(word[:1]), word[1:])):
        bare = re.sub(r"_?(steps?|updates?|cycles?)$", "", rest)
        if scale is not None and bare in {*COUNTED, *_OF_RATES.values()}:
            return scale
    return None
