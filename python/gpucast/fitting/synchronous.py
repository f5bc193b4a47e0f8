"""Tells whether a path's calls wait for answers, and which communication terms are then possible.

On some paths (remote GPUs in synchronous mode) each call returns only when the GPU's host has
answered. Operations that a schedule means to overlap then run one after another. Launch records
reveal this without any steps: ``submit`` is the time until a launch returns, ``sync`` the time
until the kernel has run. If calls do not wait, ``submit`` is the smaller part of ``sync`` (0.2 to
0.4 of it, natively and on remote paths); if they do, it is one of two equal round trips (0.53 to
0.54). These figures are from the H200 machines of the bundled datasets, with one kind of remote
path.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from gpucast import _core
from gpucast.data.records import Launch

WAITED_FOR = 0.45
"""Ratio of ``submit`` to ``sync`` above which calls wait for answers."""

_STARS = ("star-serial", "star-async")
_NOTHING_HIDES = ("star-serial", "star-async-turns")
_BY_TURNS = ("star-async-turns",)


def waits_for_calls(launches: Iterable[Launch]) -> bool | None:
    """Return whether the calls of a path wait for answers.

    Launches with equal numbers of kernels and arguments are compared; the median of several such
    ratios counts.

    Args:
        launches: launches of one machine and path; first calls are left out.

    Returns:
        None if no launches were timed in both ways.
    """
    seconds: dict[tuple[int, int], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for launch in launches:
        if not launch.cold:
            by_method = seconds[launch.count, launch.arguments or 0]
            by_method[launch.method].append(float(np.median(launch.seconds)))
    shares = [
        np.median(by_method["submit"]) / np.median(by_method["sync"])
        for by_method in seconds.values()
        if "submit" in by_method and "sync" in by_method
    ]
    return bool(np.median(shares) > WAITED_FOR) if shares else None


def terms_left(schedule: str, waits: bool | None) -> list[str]:
    """Return the communication terms that can describe a schedule on a path, its plain form first.

    Args:
        waits: the result of ``waits_for_calls`` for the path.
    """
    terms = [com.name for com in _core.COM_TERMS.values() if com.schedule == schedule]
    if waits is None or schedule not in _STARS:
        return terms
    if waits:
        return [com for com in terms if com in _NOTHING_HIDES]
    return [com for com in terms if com not in _BY_TURNS]
