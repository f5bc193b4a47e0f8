"""Forecasts of a what-if on another path, and their uncertainty.

A step there takes T = K + C + S + W: the GPUs' work K and the host's work C are those of the path
whose steps were timed, S is the communication of the other path, and W is the time to wake threads
that fell asleep. The variance of ln T is the sum of the parts' variances, each multiplied by the
square of its share:

- K and C: the uncertainty of the fit's parameters, and the deviation of the first path's steps from
  their form (relative to K + C); for C also the difference of the host's own work between paths.
- S: the uncertainty of its deviation from its form given skeletons (``residual_process``). The
  deviation depends on how long the GPUs were busy: the longer, the deeper the threads that handle
  copies sleep. The difference between steps and skeletons, or transfers and launches, is added,
  which grows beyond the GPU counts that were measured.
- W: waking that skeletons do not show. Connections to remote GPUs poll for messages for 2 ms before
  they sleep. A longer wait takes about 0.05 ms more per GPU, which grows with the wait. Large
  copies use separate connections, whose threads sleep sooner: a wait of 1 ms takes about 0.4 ms
  more, which grows with its power 0.3, beyond the waits of skeletons (loops of transfers do not
  wait).

The constants are for H200 hosts; lab/studies/what_if.py measures them, also leaving out each host
in turn.
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

# Sd of a visit's noise in ln of the GPUs' and the host's work.
_VISIT_GPU, _VISIT_CPU = 0.0035, 0.15

# Waking after a wait longer than SPIN takes WAKE (wait / SPIN)^_GROWTH seconds for each GPU.
WAKE, _GROWTH = 55e-6, 0.75
_WAKE_LOG_SD = 0.8
# Waking the threads of large copies takes BULK (wait / 1 ms)^_BULK_GROWTH seconds for copies that
# use all threads, and less in proportion to their size for shorter ones.
BULK, _BULK_GROWTH = 430e-6, 0.3
_ALL_THREADS = 256 << 10
_ONE_BY_ONE = ("star-serial", "star-serial-poll", "star-serial-hide", "star-async-turns")

# A GPU that is busy for this long counts as idle.
_NO_WORK = 1e-10  # s

# With more cells than this, deviations are drawn independently.
_MOST_TOGETHER = 400


class Parts(NamedTuple):
    """Times (s) of the parts of a step in some cells.

    Attributes:
        gpu: K, including the turns of all GPUs.
        cpu: C.
        moved: S.
        woken: W.
        hidden: the part of ``gpu`` that belongs to T_com.
    """

    gpu: Array
    cpu: Array
    moved: Array
    woken: Array
    hidden: Array

    @property
    def wait(self) -> Array:
        """Time for which each GPU is busy (s)."""
        return self.gpu - self.hidden

    @property
    def columns(self) -> Array:
        """T_gpu, T_cpu and T_com."""
        com = self.hidden + self.moved + self.woken
        return np.column_stack([self.wait, self.cpu, com])

    @property
    def seconds(self) -> Array:
        """Step time (s)."""
        return self.gpu + self.cpu + self.moved + self.woken


@dataclass(frozen=True)
class Elsewhere:
    """Forecasts on the other path, from a core's model of it.

    Attributes:
        known: the measured communication of the path.
        com: the communication term.
        workload: the workload of a step.
        native: the mixture of the first path's steps for T_gpu and T_cpu; None: the form alone.
    """

    known: OtherPath
    com: str
    workload: _core.Workload
    native: AveragedParts | None = None

    @property
    def process(self) -> ResidualProcess:
        """The Gaussian process of the deviation of ln S from its form."""
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
        """Return the parts of steps whose ln S deviates from its form by ``deviation``, by default
        its mean. ``computed``: T_gpu and T_cpu of native steps, if they are known already."""
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
        """Return the variance of ln of a step's expected time.

        Args:
            fitted: variance by the fit of the parameters; a native mixture has its own instead.
        """
        known, total = self.known, parts.seconds
        computing = parts.gpu + parts.cpu
        _, deviation = self.process.at(n, gpus, parts.wait)
        moved_variance = deviation + known.beyond**2 + self._unseen(gpus) ** 2
        own = fitted + (known.computing * computing / total) ** 2
        if self.native is not None:
            _, variance = self.native.computing(n, gpus)
            shares = np.column_stack([parts.gpu, parts.cpu]) / total[:, np.newaxis]
            own = (shares**2 * variance).sum(axis=1)
        return np.asarray(
            own
            + (known.host * parts.cpu / total) ** 2
            + moved_variance * (parts.moved / total) ** 2
            + (_WAKE_LOG_SD * parts.woken / total) ** 2
        )

    def visit_variance(self, t_gpu: Array, t_cpu: Array, t_com: Array) -> Array:
        """Return the variance of ln of one visit's time around the expected one."""
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
        """Draw step times of cells: one row for each pair of a model with parameters and
        ``factors`` on T_gpu, T_cpu and T_com."""
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
        """Draw factors on T_gpu and T_cpu of each cell; ``variance``: variances of their logarithms
        given native steps."""
        if variance is None:
            own = np.exp(self.known.computing * rng.standard_normal(cells))
            return own, own
        # Neighbouring cells deviate together.
        gpu, cpu = np.exp(np.sqrt(variance) * rng.standard_normal(2)).T
        return gpu, cpu

    def _deviations(self, n: Array, gpus: Array, wait: Array) -> tuple[Array, Array]:
        """Return the mean of ln S's deviation, and a square root of its covariance."""
        if n.size <= _MOST_TOGETHER:
            mean, covariance = self.process.together(n, gpus, wait)
            eigenvalues, vectors = np.linalg.eigh(covariance)
            return mean, vectors * np.sqrt(np.maximum(eigenvalues, 0.0))
        mean, variance = self.process.at(n, gpus, wait)
        # The common deviation is the larger part, and plans hardly need the rest.
        return mean, np.sqrt(variance)[:, np.newaxis]

    def _unseen(self, gpus: Array) -> Array:
        beyond = np.log2(np.maximum(gpus / self.known.known_gpus, 1.0))
        return np.asarray(UNSEEN_DOUBLING * beyond)

    def _woken(self, wait: Array, n: Array, gpus: Array) -> Array:
        if not self.known.sleeps:
            return np.zeros(wait.size)
        asleep = wait > SPIN
        relative = np.where(asleep, wait / SPIN, 1.0)
        # If GPUs are waited for one after another, their threads wake one after another, else at
        # once.
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
    """The terms of one of our own programs with the communication of another path."""

    def __init__(self, fitted: Fitted) -> None:
        super().__init__(fitted)
        assert fitted.other_path is not None
        native = None if fitted.mixture is None else AveragedParts(fitted)
        self.elsewhere = Elsewhere(fitted.other_path, fitted.terms.com, fitted.workload, native)
        self._beyond = beyond_measured(fitted)

    def parts(self, n: Array, gpus: Array) -> Parts:
        """Return the expected parts of steps."""
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
    """Return S, the time of communication (s) if GPUs have no work."""
    idle = np.full(n.size, _NO_WORK)
    return np.asarray(core.skeleton_seconds(values, n, gpus, idle) - _NO_WORK, dtype=np.float64)
