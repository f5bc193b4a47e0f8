"""Sizes in the names of columns, and GPU counts as names of columns.

``System size [M atoms]``, ``atoms (x1e6)``, ``cells in thousands``, ``Batch size per GPU``: the
unit comes from the column's name, or from the user after a colon: ``--columns n=C:M``. If GPU
counts are in columns, these are named ``1 GPU``, ``2 GPUs``, ``N=4``, ``8``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gpucast.data.formats.tables.units import COUNTED, normalized, share_in
from gpucast.data.workload import LARGEST_GPUS

MANY = r"(?:(?:#|n|no\.?|nr\.?|num|(?:total_)?number)_of_|#_?|n_?|num_?|n[or]\._?|total_)?"
"""Words before a noun in the name of a column that counts it: ``# ``, ``n_``, ``No. of ``."""

_COUNTS = rf"{MANY}({'|'.join(COUNTED)})"
_BATCH = r"(?:global_|total_|effective_)?(?:train_)?batch(?:_size)?"
# Names of sizes, the best first: if a table has several, the first is taken.
_NAMES = ("n", _COUNTS, "size|problem_size|system_size", _BATCH, "(?:max_)?concurrency")
# A batch of this kind belongs to a GPU if the name says so; otherwise it is not clear.
_SMALL_BATCH = r"(?:train_)?(?:micro|mini)_?batch(?:_size)?"

_FACTORS = {
    word: factor
    for factor, words in (
        (1e3, "k thousand thousands tsd tsd. tausend"),
        (1e6, "m million millions mio mio. mn millionen"),
        (1e9, "g bn billion billions mrd mrd. milliarden"),
    )
    for word in words.split()
}
_POWER = re.compile(
    r"(?:[x*·×]_?)?(?:10(?:\^|\*\*)(?P<power>[0-9]{1,2})"
    r"|(?P<digits>1(?:000+)?(?:\.0*)?(?:e[+]?[0-9]{1,2})?))"
)
_SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹"
LARGEST_FACTOR = 1e15


@dataclass(frozen=True)
class SizeUnit:
    """The factor of the numbers in a column of sizes, and what they count.

    Attributes:
        factor: a power of ten.
        counts: the noun in plural, as in records; None: not stated.
        share: ``gpus`` or ``ranks`` if sizes are those of one of these; None: those of all.
    """

    factor: float = 1.0
    counts: str | None = None
    share: str | None = None


def parse_size_unit(text: str) -> SizeUnit | None:
    """Return the meaning of ``k``, ``millions``, ``1e6``, ``x 10^6``, ``M atoms``, ``cells`` or
    ``per GPU``, also joined; None for other texts."""
    word, share = share_in(_plain(text))
    word = word.removeprefix("in_")
    if word == "local":
        return SizeUnit(share="gpus")
    if not word:
        return SizeUnit(share=share) if share else None
    factor = _factor(word)
    if factor is not None:
        return SizeUnit(factor, share=share)
    counted = _counted(word)
    return SizeUnit(*counted, share=share) if counted else None


def size_named(name: str) -> tuple[int | None, SizeUnit]:
    """Return the rank of a name of sizes (the smallest is best, None: it is not one) and its
    unit."""
    word = _plain(name)
    stem = re.sub(r"_?[(\[].*?[)\]]", "", word)
    inner = [parse_size_unit(unit) for unit in re.findall(r"[(\[](.*?)[)\]]", word)]
    units = [unit for unit in inner if unit is not None]
    stem, share = share_in(stem)
    tail = re.fullmatch(r"(.+?)(?:,?_in_|,_?|/|_(?=[x*·×]|10\^|1e))(.+)", stem)
    if tail and (factor := _factor(tail[2])) is not None:
        stem = tail[1]
        units.insert(0, SizeUnit(factor))
    joined = None if _rank(stem) is not None else _counted(re.sub(f"^{MANY}", "", stem))
    if joined:
        units.insert(0, SizeUnit(*joined))
        stem = str(joined[1]).replace(" ", "_")
    noun = re.fullmatch(_COUNTS, stem)
    unit = SizeUnit(
        next((unit.factor for unit in units if unit.factor != 1), 1.0),
        COUNTED[noun[1]] if noun else next((unit.counts for unit in units if unit.counts), None),
        share or next((unit.share for unit in units if unit.share), None),
    )
    rank = _rank(stem)
    if unit.share is None:
        return rank, unit
    if rank is None and re.fullmatch(_SMALL_BATCH, stem):
        rank = len(_NAMES)
    # A size of all GPUs is preferred to one of each, because it needs no other information.
    return rank if rank is None else rank + len(_NAMES), unit


_BEHIND = re.compile(r"(?P<digits>.*?[0-9][.,]?) ?(?P<word>[^\W\d_]+[.]?)")


def with_factor(text: str) -> tuple[str, float]:
    """Return the digits and the factor of ``0.5 M``, ``64k``, ``2 Mio.``; 1 without a factor."""
    match = _BEHIND.fullmatch(text)
    factor = _FACTORS.get(match["word"].casefold()) if match else None
    return (match["digits"], factor) if match and factor else (text, 1.0)


def may_be_a_share(name: str) -> bool:
    """Return whether sizes of this name may be those of one GPU as well as those of all."""
    word = _plain(name)
    return "batch" in word and not re.search("global|total|effective", word)


def _rank(stem: str) -> int | None:
    return next((i for i, pattern in enumerate(_NAMES) if re.fullmatch(pattern, stem)), None)


def _plain(text: str) -> str:
    powers = re.sub(f"[{_SUPERSCRIPTS}]+", lambda found: f"^{found[0]}", text)
    return normalized(powers.translate(str.maketrans(_SUPERSCRIPTS, "0123456789", "{}")))


def _factor(word: str) -> float | None:
    """Return the factor of a word: ``k``, ``x1e6``, ``10^6``, ``1,000``."""
    if word in _FACTORS:
        return _FACTORS[word]
    match = _POWER.fullmatch(re.sub("(?<=[0-9])[,'](?=[0-9]{3})", "", word))
    if match is None:
        return None
    value = float(f"1e{match['power']}" if match["power"] else match["digits"])
    return value if value <= LARGEST_FACTOR else None


def _counted(word: str) -> tuple[float, str] | None:
    """Return factor and noun of ``atoms``, ``matoms``, ``million_atoms``, ``10^6_atoms``."""
    if word in COUNTED:
        return 1.0, COUNTED[word]
    for noun in sorted(COUNTED, key=len, reverse=True):
        if word.endswith(noun):
            head = re.sub("_?(?:of_)?$", "", word.removesuffix(noun))
            # In electronic structure, k-points are points.
            factor = None if (head, COUNTED[noun]) == ("k", "points") else _factor(head)
            return None if factor is None else (factor, COUNTED[noun])
    return None


GPU_WORDS = r"(?:gpus?|devices?|gcds?|accelerators?)"
_GPU_COUNT = re.compile(
    rf"(?:n|{GPU_WORDS}|n_?{GPU_WORDS})_?[=:]_?(?P<after>[0-9]+)"
    rf"|(?P<before>[0-9]+)_?x?_?{GPU_WORDS}"
    r"|(?P<bare>[0-9]+)(?:[.]0)?"
)
_UNIT = re.compile(r"_?[(\[].*?[)\]]")


def counts_across(names: Sequence[str]) -> dict[int, int]:
    """Return the GPU counts of columns named by one, by index; empty unless there are two and all
    differ."""
    counts_by_column = {}
    for at, name in enumerate(names):
        match = _GPU_COUNT.fullmatch(_UNIT.sub("", normalized(name)))
        if match is not None:
            counts_by_column[at] = int(match["after"] or match["before"] or match["bare"])
    counts = list(counts_by_column.values())
    told = len(counts) > 1 and len(set(counts)) == len(counts)
    return counts_by_column if told and all(1 <= count <= LARGEST_GPUS for count in counts) else {}


def is_worded(name: str) -> bool:
    """Return whether the name of such a column states that it is a GPU count."""
    return re.search("[a-z]", _UNIT.sub("", normalized(name))) is not None
