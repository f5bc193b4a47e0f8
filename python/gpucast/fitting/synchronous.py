"""Whether a path's calls are waited for, and which communication terms that leaves.

Over some paths (remote GPUs in synchronous mode) each call returns only when the GPU's host has
answered. What a schedule means to run at once then runs by turns, and nothing hides behind anything
else. Launch records tell, without any step: ``submit`` is what the host waits when it launches a
kernel, ``sync`` the same until the kernel has run. Where calls are not waited for, submitting is
the smaller part of that (0.2 to 0.4 of it, natively and over remote paths); where they are, it is
one of two alike round trips (0.53 to 0.54). Measured on the H200 machines of the bundled datasets,
with one kind of remote path.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from gpucast import _core
from gpucast.data.records import Launch

WAITED_FOR = 0.45
"""Share of ``submit`` in ``sync`` above which calls are waited for."""

_STARS = ("star-serial", "star-async")
_NOTHING_HIDES = ("star-serial", "star-async-turns")
_BY_TURNS = ("star-async-turns",)


def waits_for_calls(launches: Iterable[Launch]) -> bool | None:
    """Whether the calls of a path are waited for.

    Compared are launches of as many kernels with as many arguments; of several such pairs the
    median counts.

    Args:
        launches: of one machine and path; first calls are left out.

    Returns:
        None where no launches were timed both ways.
    """
    seconds: dict[tuple[int, int], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for launch in launches:
        if not launch.cold:
            of_kind = seconds[launch.count, launch.arguments or 0]
            of_kind[launch.method].append(float(np.median(launch.seconds)))
    shares = [
        np.median(of_kind["submit"]) / np.median(of_kind["sync"])
        for of_kind in seconds.values()
        if "submit" in of_kind and "sync" in of_kind
    ]
    return bool(np.median(shares) > WAITED_FOR) if shares else None


def terms_left(schedule: str, waits: bool | None) -> list[str]:
    """Communication terms that can describe a schedule on a path, its plain form first.

    Args:
        waits: what ``waits_for_calls`` says of the path.
    """
    terms = [com.name for com in _core.COM_TERMS.values() if com.schedule == schedule]
    if waits is None or schedule not in _STARS:
        return terms
    if waits:
        return [com for com in terms if com in _NOTHING_HIDES]
    return [com for com in terms if com not in _BY_TURNS]
