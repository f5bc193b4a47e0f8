"""How long a step takes over networks that nobody has: over round trip and bandwidth.

Each point is the same steps on the path as it was measured, with a network of so much round trip
and bandwidth between the hosts (``PathCosts.over``). The slowest of several processes counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gpucast.data.dataset import Dataset
from gpucast.data.traces.steps import Steps
from gpucast.data.traces.trace import Trace
from gpucast.errors import InputError
from gpucast.paths.traced.from_trace import traced_programs, warnings_of
from gpucast.paths.traced.network import Network
from gpucast.paths.traced.path import PathCosts, path_costs, takes_on
from gpucast.paths.traced.program import CallProgram, Seconds
from gpucast.paths.traced.timeline import median_seconds, native_seconds
from gpucast.util.units import duration, percent

ROUND_TRIPS = (5e-6, 1e-3)
"""Ends of the map, s: a rack's network, and that between cities."""
BANDWIDTHS = (1e9 / 8, 400e9 / 8)
"""B/s."""
LEVELS = (1.1, 1.5, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
"""Times as long as natively, of which there are lines."""

MOST_STEPS = 12
_TRIPS, _BANDWIDTHS = 34, 26
"""Points."""
_TOGETHER = 2_000_000
"""Calls times points that are gone through at once."""
CLEARLY = 1.3
"""Times the least extra on a map from which on more is worth a sentence."""
ALIKE = 1.15
"""Round trips that differ by no larger factor are called one."""


@dataclass(frozen=True)
class NetworkMap:
    """Times of a step as long as natively.

    Attributes:
        program: what was traced; path: whose software makes the calls.
        native: s of a step.
        round_trips: s, beside what the software takes; bandwidths: B/s; both ascend.
        ratios: a row a bandwidth, a column a round trip.
        measured: the bandwidth (B/s) of the path as it was measured, None where no large copies
            tell it, and the ratio there.
        asked: a network that was named, and the ratio there.
        warnings: of the programs and of the path's costs.
    """

    program: str
    path: str
    native: float
    round_trips: Seconds
    bandwidths: Seconds
    ratios: Seconds
    measured: tuple[float | None, float]
    asked: tuple[Network, float] | None = None
    warnings: tuple[str, ...] = ()

    def up_to(self, level: float) -> Seconds:
        """The longest round trip, s, at which a step takes at most ``level`` times as long.

        For each bandwidth; 0 where it takes longer at the map's shortest, inf where it does at
        none.
        """
        longest = np.empty(self.bandwidths.size)
        trips = np.log(self.round_trips)
        for row, ratios in enumerate(self.ratios):
            rising = np.maximum.accumulate(ratios)
            if rising[0] > level:
                longest[row] = 0.0
            elif rising[-1] <= level:
                longest[row] = np.inf
            else:
                after = int(np.argmax(rising > level))
                low, high = rising[after - 1 : after + 1]
                share = (level - low) / (high - low)
                longest[row] = np.exp(trips[after - 1] + share * (trips[after] - trips[after - 1]))
        return longest

    @property
    def told(self) -> float | None:
        """The level that the sentence is about: the first that is clearly above the map's least;
        None where the map is below all of them, or beyond."""
        least, most = float(self.ratios.min()), float(self.ratios.max())
        more = 1 + CLEARLY * (least - 1) if least > LEVELS[0] else least
        return next((level for level in LEVELS if more <= level < most), None)

    @property
    def sentence(self) -> str:
        """What the map says in a line."""
        level = self.told
        if level is None:
            longest = _longer(float(self.ratios.max()))
            return f"{self.program} takes at most {longest} over any of these networks"
        trips, least = self.up_to(level), float(self.ratios.min())
        farthest = float(trips[-1])
        text = f"{self.program} takes "
        if least > LEVELS[0]:
            text += f"at least {_longer(least)} everywhere; "
        text += f"at most {_longer(level)}"
        enough = float(self.bandwidths[np.argmax(trips * ALIKE >= farthest)])
        of_bandwidth = f"from {_rounded(enough * 8 / 1e9):g} Gb/s on"
        if np.isinf(farthest):
            return f"{text} {of_bandwidth}, whatever the round trip"
        text += f" up to a round trip of {duration(_rounded(farthest))}"
        if trips[0] * ALIKE >= farthest:
            return f"{text}, whatever the bandwidth"
        return f"{text}, {of_bandwidth}"


def _longer(ratio: float) -> str:
    """A ratio in words, behind "takes"."""
    if ratio < 2:
        return f"{percent(max(ratio - 1, 0.0), 0)} longer than natively"
    return f"{ratio:.2g} times as long as natively"


def _rounded(value: float) -> float:
    """To two digits."""
    return float(f"{value:.2g}")


def network_map(
    trace: Trace,
    data: Dataset,
    path: str,
    *,
    machine: str | None = None,
    network: Network | None = None,
    range_name: str | None = None,
    steps: Steps | None = None,
    native: float | None = None,
) -> NetworkMap:
    """The map of a traced program on a path.

    Args:
        data: launches and transfers of that path, native ones beside them if there are.
        network: one to mark.
        range_name: the NVTX range that is a step; None: what repeats. steps: where they were found
            already. native: s of a step natively, where more steps than the map's tell.

    Raises:
        InputError: no repeating step, or what the path's costs need was not measured.
    """
    costs = path_costs(data, path, machine=machine)
    if not costs.messages:
        raise InputError(f"{path} reaches its GPUs without a network", field="--map")
    programs = traced_programs(trace, range_name, steps=steps, most_steps=MOST_STEPS)
    few = max(native_seconds(program) for program in programs)
    native = native or few

    def ratios(*networks: Network) -> Seconds:
        lasted = [_lasted(program, costs, networks) for program in programs]
        return np.asarray((np.max(lasted, axis=0) - few) / native + 1)

    trips, bandwidths = np.geomspace(*ROUND_TRIPS, _TRIPS), np.geomspace(*BANDWIDTHS, _BANDWIDTHS)
    points = ratios(*(Network(b, t) for b in bandwidths.tolist() for t in trips.tolist()))
    return NetworkMap(
        program=trace.program,
        path=path,
        native=native,
        round_trips=trips,
        bandwidths=bandwidths,
        ratios=points.reshape(_BANDWIDTHS, _TRIPS),
        measured=(_bandwidth(costs), float(ratios()[0])),
        asked=None if network is None else (network, float(ratios(network)[0])),
        warnings=(
            *dict.fromkeys(warning for program in programs for warning in program.warnings),
            *costs.warnings,
            *warnings_of(programs),
        ),
    )


def _lasted(program: CallProgram, costs: PathCosts, networks: Sequence[Network]) -> Seconds:
    """s of a step over each network; over the path's own where there is none."""
    missed = native_seconds(program) - median_seconds(program)[0]
    at_once = max(1, _TOGETHER // max(1, len(program)))
    lasted = [
        median_seconds(program, takes_on(program, costs, networks[first : first + at_once]))
        for first in range(0, max(len(networks), 1), at_once)
    ]
    return np.asarray(np.concatenate(lasted) + missed)


def _bandwidth(costs: PathCosts) -> float | None:
    """B/s of the largest copy that was measured to the GPUs, where it is large."""
    curves = list(costs.there.up.values())
    largest = max(curves, key=lambda curve: float(curve.sizes[-1]))
    if largest.sizes[-1] < 1 << 20:
        return None
    return max(float(curve.sizes[-1] / curve.seconds[-1]) for curve in curves)
