"""What a what-if's forecasts know, and do not know, of the path that they are for.

A step there takes T = K + C + S + W: the GPUs' work K and the host's work C from the path whose
steps were timed, the communication S of the other path, and W for threads that fell asleep
meanwhile. The variance of ln T is the sum of the parts' own, each by the square of its share:

- K and C: what the fit of their parameters leaves open, and by how much steps of the first path
  deviate from their form (relative to K + C); C beside that by what the host's own work differs
  between paths.
- S: what skeletons leave open of its deviation from its form (``residual_process``), which depends
  on how long the GPUs were busy: the longer, the deeper sleep the threads that carry copies. And by
  what steps differ from skeletons, or from what transfers and launches give; more beyond the GPU
  counts that were measured there.
- W: what no skeleton waited for. Connections to remote GPUs look for messages for 2 ms before they
  sleep: nothing below, beyond it about 0.05 ms a GPU, growing with the wait. Large copies go over
  connections of their own, whose threads sleep sooner: about 0.4 ms after a wait of 1 ms, growing
  with its power 0.3, beyond what skeletons waited (which loops of transfers do not at all).

Sizes are of H200 hosts; lab/studies/what_if.py measures them, and without each host in
turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gpucast import _core
from gpucast.data.remote_layer import SPIN
from gpucast.model.adjustments import OtherPath
from gpucast.model.averaged_parts import AveragedParts, beyond_measured, with_breaks
from gpucast.model.engine import Measured
from gpucast.model.facts import Fitted
from gpucast.model.intervals import Array
from gpucast.model.one_form import OneForm
from gpucast.model.residual_process import ResidualProcess

# Sd of a visit's noise in ln of each part: of the GPUs' work, the host's, communication.
_VISIT_GPU, _VISIT_CPU = 0.0035, 0.15

# Seconds for which a connection looks for messages, and what waking costs after longer waits:
# WAKE (wait / SPIN)^_GROWTH seconds for each GPU.
WAKE, _GROWTH = 55e-6, 0.75
_WAKE_LOG_SD = 0.8
# The same of the threads of large copies: BULK (wait / 1 ms)^_BULK_GROWTH seconds for copies that
# are worth all of them, and less by their bytes for shorter ones.
BULK, _BULK_GROWTH = 430e-6, 0.3
_ALL_THREADS = 256 << 10
_ONE_BY_ONE = ("star-serial", "star-serial-poll", "star-serial-hide", "star-async-turns")

# Skeletons and steps of a GPU that is busy for this long cost what they cost without any work.
_NO_WORK = 1e-10  # s

# Deviations of more cells than this are drawn for some of them, evenly taken in the order asked.
_MOST_TOGETHER = 400


class Parts(NamedTuple):
    """Seconds of each part in some cells.

    Attributes:
        gpu: K, for turns of all GPUs.
        cpu: C.
        moved: S.
        woken: W.
        hidden: what ``gpu`` holds that belongs to T_com.
    """

    gpu: Array
    cpu: Array
    moved: Array
    woken: Array
    hidden: Array

    @property
    def wait(self) -> Array:
        """Seconds for which each GPU is busy."""
        return self.gpu - self.hidden

    @property
    def columns(self) -> Array:
        """T_gpu, T_cpu and T_com."""
        com = self.hidden + self.moved + self.woken
        return np.column_stack([self.wait, self.cpu, com])

    @property
    def seconds(self) -> Array:
        """Seconds of the step."""
        return self.gpu + self.cpu + self.moved + self.woken


@dataclass(frozen=True)
class Elsewhere:
    """Forecasts on the other path, from a core's model of it.

    Attributes:
        known: what was measured of it.
        com: the communication term.
        workload: what a step moves.
        native: what the steps of the first path say of T_gpu and T_cpu beyond their form; None:
            the form is all.
    """

    known: OtherPath
    com: str
    workload: _core.Workload
    native: AveragedParts | None = None

    @property
    def process(self) -> ResidualProcess:
        """The process of the deviation of ln S from its form."""
        known = self.known
        columns = (known.n, known.gpus, known.wait, known.deviation, known.variance)
        n, gpus, wait, deviation, variance = (
            np.array(column, dtype=np.float64) for column in columns
        )
        amplitudes = (known.along_n, known.along_gpus)
        return ResidualProcess(n, gpus, wait, deviation, variance, amplitudes)

    def parts(
        self,
        core: _core.Model,
        values: Array,
        n: Array,
        gpus: Array,
        deviation: Array | None = None,
        computed: Array | None = None,
    ) -> Parts:
        """The parts of a step where ln S deviates from its form by so much; None: as is expected.
        ``computed``: T_gpu and T_cpu of the native steps, where they are there already."""
        none = np.empty((0, values.size))
        t_gpu, t_cpu, t_com, _ = _core.forecast(core, values, none, [], n, gpus)
        moved = moved_alone(core, values, n, gpus)
        hidden = np.maximum(t_com - moved, -t_gpu)
        if computed is None and self.native is not None:
            computed, _ = self.native.computing(n, gpus)
        if computed is not None:
            hidden *= computed[:, 0] / t_gpu
            t_gpu, t_cpu = computed.T
        busy = t_gpu + hidden
        if deviation is None:
            deviation, _ = self.process.at(n, gpus, t_gpu)
        return Parts(busy, t_cpu, moved * np.exp(deviation), self._woken(busy, n, gpus), hidden)

    def variance(self, parts: Parts, n: Array, gpus: Array, fitted: Array) -> Array:
        """Variance of the logarithm of a step's expected time.

        Args:
            fitted: what the fit of the parameters leaves open; not asked of a native mixture, which
                knows better.
        """
        known, total = self.known, parts.seconds
        computing = parts.gpu + parts.cpu
        _, deviation = self.process.at(n, gpus, parts.wait)
        of_moved = deviation + known.beyond**2 + self._unseen(gpus) ** 2
        own = fitted + (known.computing * computing / total) ** 2
        if self.native is not None:
            _, variance = self.native.computing(n, gpus)
            shares = np.column_stack([parts.gpu, parts.cpu]) / total[:, np.newaxis]
            own = (shares**2 * variance).sum(axis=1)
        return np.asarray(
            own
            + (known.host * parts.cpu / total) ** 2
            + of_moved * (parts.moved / total) ** 2
            + (_WAKE_LOG_SD * parts.woken / total) ** 2
        )

    def visit_variance(self, t_gpu: Array, t_cpu: Array, t_com: Array) -> Array:
        """Variance of the logarithm of one visit's time around the expected one."""
        total = t_gpu + t_cpu + t_com
        noise = ((_VISIT_GPU, t_gpu), (_VISIT_CPU, t_cpu), (self.known.visit, t_com))
        return np.asarray(sum((sd * part / total) ** 2 for sd, part in noise))

    def drawn(
        self,
        models: Sequence[tuple[_core.Model, Array]],
        n: Array,
        gpus: Array,
        factors: Array,
        rng: np.random.Generator,
    ) -> Array:
        """Step times of some cells, a row for each of the models' parameters; ``factors``: on
        T_gpu, T_cpu and T_com, likewise."""
        known = self.known
        wait = self.parts(*models[0], n, gpus).wait
        mean, spread = self._deviations(n, gpus, wait)
        unseen = self._unseen(gpus)
        rows = []
        computed, variance = (None, None) if self.native is None else self.native.computing(n, gpus)
        for (core, values), (on_gpu, on_cpu, on_com) in zip(models, factors, strict=True):
            common = known.beyond * rng.standard_normal() + unseen * rng.standard_normal()
            deviation = mean + spread @ rng.standard_normal(spread.shape[1]) + common
            parts = self.parts(core, values, n, gpus, deviation, computed)
            host = np.exp(known.host * rng.standard_normal())
            wake = np.exp(_WAKE_LOG_SD * rng.standard_normal())
            gpu, cpu = self._computing_drawn(n.size, variance, rng)
            com = parts.hidden * gpu + parts.moved + parts.woken * wake
            rows.append(on_gpu * gpu * parts.wait + on_cpu * cpu * parts.cpu * host + on_com * com)
        return np.array(rows)

    def _computing_drawn(
        self, cells: int, variance: Array | None, rng: np.random.Generator
    ) -> tuple[Array, Array]:
        """Factors on T_gpu and T_cpu of each cell; ``variance``: of their logarithms, as the native
        steps leave them."""
        if variance is None:
            own = np.exp(self.known.computing * rng.standard_normal(cells))
            return own, own
        # Cells near one another deviate together.
        gpu, cpu = np.exp(np.sqrt(variance) * rng.standard_normal(2)).T
        return gpu, cpu

    def _deviations(self, n: Array, gpus: Array, wait: Array) -> tuple[Array, Array]:
        """Mean of ln S's deviation, and a factor of its covariance."""
        if n.size <= _MOST_TOGETHER:
            mean, covariance = self.process.together(n, gpus, wait)
            eigenvalues, vectors = np.linalg.eigh(covariance)
            return mean, vectors * np.sqrt(np.maximum(eigenvalues, 0.0))
        mean, variance = self.process.at(n, gpus, wait)
        # What all have in common is the larger part, and a plan asks for little else.
        return mean, np.sqrt(variance)[:, np.newaxis]

    def _unseen(self, gpus: Array) -> Array:
        beyond = np.log2(np.maximum(gpus / self.known.known_gpus, 1.0))
        return np.asarray(UNSEEN_DOUBLING * beyond)

    def _woken(self, wait: Array, n: Array, gpus: Array) -> Array:
        if not self.known.sleeps:
            return np.zeros(wait.size)
        asleep = wait > SPIN
        relative = np.where(asleep, wait / SPIN, 1.0)
        # Threads of GPUs that are waited for one after another wake so, too; others at once.
        woken = gpus if self.com in _ONE_BY_ONE else np.ones(gpus.size)
        late = np.where(asleep, WAKE * woken * relative**_GROWTH, 0.0)
        return np.asarray(late + self._woken_for_large_copies(wait, n, gpus))

    def _woken_for_large_copies(self, wait: Array, n: Array, gpus: Array) -> Array:
        if self.known.most_inline is None:
            return np.zeros(wait.size)
        size = np.array([self.workload.to_gpu(*cell) for cell in zip(n, gpus, strict=True)])
        threads = np.where(size > self.known.most_inline, np.minimum(size / _ALL_THREADS, 1.0), 0.0)
        measured = np.minimum(wait, max(self.known.wait, default=0.0))
        late, known = (np.power(seconds / 1e-3, _BULK_GROWTH) for seconds in (wait, measured))
        return np.asarray(BULK * threads * (late - known))


class OnOtherPath(OneForm):
    """The terms of one of our own programs with the communication of another path.

    Args:
        fitted: what holds both.
    """

    def __init__(self, fitted: Fitted) -> None:
        super().__init__(fitted)
        assert fitted.other_path is not None
        native = None if fitted.mixture is None else AveragedParts(fitted)
        self.elsewhere = Elsewhere(fitted.other_path, fitted.terms.com, fitted.workload, native)
        self._beyond = beyond_measured(fitted)

    def parts(self, n: Array, gpus: Array) -> Parts:
        """The parts of steps as they are expected."""
        return self.elsewhere.parts(self._core, self._values, n, gpus)

    def _known(
        self, n: Array, gpus: Array, measured: Measured | None
    ) -> tuple[Array, Array, Array]:
        fitted = self._forecast(n, gpus)[-1]
        parts = self.parts(n, gpus)
        spread = np.sqrt(self.elsewhere.variance(parts, n, gpus, fitted**2))
        own = self.elsewhere.visit_variance(parts.gpu, parts.cpu, parts.moved + parts.woken)
        if measured is not None:
            # Repetitions of one visit share its noise.
            own = own / measured.visits + measured.rounding
        return parts.columns, spread, own

    def seconds(self, n: Array, gpus: Array, factors: Array) -> Array:
        return self.parts(n, gpus).columns @ factors

    def draws(self, n: Array, gpus: Array, factors: Array) -> Array:
        replicates, integers = self._fitted.replicates, self._fitted.integers
        rows = [at % self.draw_count for at in range(len(factors))]
        models = [(self._cores[integers[at]], replicates[at]) for at in rows]
        drawn = self.elsewhere.drawn(models, n, gpus, factors, np.random.default_rng(0))
        return with_breaks(drawn, self._beyond, gpus)


UNSEEN_DOUBLING = 0.15
"""Sd of ln S for each doubling of the GPU count beyond the largest measured on the path."""


def moved_alone(core: _core.Model, values: Array, n: Array, gpus: Array) -> Array:
    """S: what communication takes beside GPUs that have nothing to do, s."""
    idle = np.full(n.size, _NO_WORK)
    return np.asarray(core.skeleton_seconds(values, n, gpus, idle) - _NO_WORK, dtype=np.float64)
