"""GPU counts as names of columns: ``1 GPU``, ``2 GPUs``, ``N=4``, ``8``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpucast.data.formats.tables.units import normalized
from gpucast.data.limits import LARGEST_GPUS

GPU_WORDS = r"(?:gpus?|devices?|gcds?|accelerators?)"
_COUNT = re.compile(
    rf"(?:n|{GPU_WORDS}|n_?{GPU_WORDS})_?[=:]_?(?P<after>[0-9]+)"
    rf"|(?P<before>[0-9]+)_?x?_?{GPU_WORDS}"
    r"|(?P<bare>[0-9]+)(?:[.]0)?"
)
_UNIT = re.compile(r"_?[(\[].*?[)\]]")


def counts_across(names: Sequence[str]) -> dict[int, int]:
    """GPU counts by index of the columns that are named by one; empty unless there are two and all
    differ."""
    found = {}
    for at, name in enumerate(names):
        match = _COUNT.fullmatch(_UNIT.sub("", normalized(name)))
        if match is not None:
            found[at] = int(match["after"] or match["before"] or match["bare"])
    counts = list(found.values())
    told = len(counts) > 1 and len(set(counts)) == len(counts)
    return found if told and all(1 <= each <= LARGEST_GPUS for each in counts) else {}


def is_worded(name: str) -> bool:
    """Whether the name of such a column says that it is a count of GPUs."""
    return re.search("[a-z]", _UNIT.sub("", normalized(name))) is not None
