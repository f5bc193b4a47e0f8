"""Maps the step time over round trip and bandwidth of hypothetical networks.

Each point simulates the same steps on the measured path with that round trip and bandwidth between
the hosts (``PathCosts.over``). The slowest of several processes counts.
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
"""Range of the map (s): from a rack's network to one between cities."""
BANDWIDTHS = (1e9 / 8, 400e9 / 8)
"""Range of the map (B/s)."""
LEVELS = (1.1, 1.5, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
"""Contour levels of the ratio to the native step."""

MOST_STEPS = 12
_TRIPS, _BANDWIDTHS = 34, 26
"""Numbers of grid points."""
_TOGETHER = 2_000_000
"""Calls times points that are simulated at once."""
CLEARLY = 1.3
"""A level is clearly above the map's least extra time if it is this factor above it."""
ALIKE = 1.15
"""Round trips that differ by at most this factor count as equal."""


@dataclass(frozen=True)
class NetworkMap:
    """Step times over networks, relative to the native step.

    Attributes:
        program: the traced program; path: the path whose software makes the calls.
        native: native step time (s).
        round_trips: round trips (s) without software; bandwidths: in B/s; both ascend.
        ratios: step time over native step time; a row per bandwidth, a column per round trip.
        measured: the path's measured bandwidth (B/s; None without large copies), and its ratio.
        asked: the network that the user named, and its ratio.
        warnings: about the programs and the path's measurements.
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
        """Return, for each bandwidth, the longest round trip (s) at which the ratio is at most
        ``level``.

        It is 0 if the map's shortest round trip is above the level, inf if no round trip is.
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
    def summary_level(self) -> float | None:
        """The level of the sentence: the first that is clearly above the map's least; None if the
        map is below or above all levels."""
        least, most = float(self.ratios.min()), float(self.ratios.max())
        more = 1 + CLEARLY * (least - 1) if least > LEVELS[0] else least
        return next((level for level in LEVELS if more <= level < most), None)

    @property
    def sentence(self) -> str:
        """A one-line summary of the map."""
        level = self.summary_level
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
        from_bandwidth = f"from {_rounded(enough * 8 / 1e9):g} Gb/s on"
        if np.isinf(farthest):
            return f"{text} {from_bandwidth}, whatever the round trip"
        text += f" up to a round trip of {duration(_rounded(farthest))}"
        if trips[0] * ALIKE >= farthest:
            return f"{text}, whatever the bandwidth"
        return f"{text}, {from_bandwidth}"


def _longer(ratio: float) -> str:
    """Return a ratio as words that follow "takes"."""
    if ratio < 2:
        return f"{percent(max(ratio - 1, 0.0), 0)} longer than natively"
    return f"{ratio:.2g} times as long as natively"


def _rounded(value: float) -> float:
    """Round to two digits."""
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
    """Return the map of a traced program on a path.

    Args:
        data: launches and transfers of that path, and native ones if available.
        network: a network to mark.
        range_name: the NVTX range that is a step; None: steps are found by repetition. steps: the
            steps, if they were found already. native: native step time (s), if known from more
            steps than the map simulates.

    Raises:
        InputError: there is no repeating step, or a measurement of the path is missing.
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
    """Return the step time (s) over each network, or over the path's own if there are none."""
    missed = native_seconds(program) - median_seconds(program)[0]
    at_once = max(1, _TOGETHER // max(1, len(program)))
    lasted = [
        median_seconds(program, takes_on(program, costs, networks[first : first + at_once]))
        for first in range(0, max(len(networks), 1), at_once)
    ]
    return np.asarray(np.concatenate(lasted) + missed)


def _bandwidth(costs: PathCosts) -> float | None:
    """Return the bandwidth (B/s) of the largest measured copy to the GPUs; None if it is small."""
    curves = list(costs.there.up.values())
    largest = max(curves, key=lambda curve: float(curve.sizes[-1]))
    if largest.sizes[-1] < 1 << 20:
        return None
    return max(float(curve.sizes[-1] / curve.seconds[-1]) for curve in curves)
