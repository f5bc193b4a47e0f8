"""A campaign measures all paths of a machine, one after the other, into one file."""

from __future__ import annotations

import os
import shutil
import time

from gpucast.data.dataset import rehearsed
from gpucast.data.records import Machine
from gpucast.errors import GpucastError, InputError
from gpucast.measure import programs
from gpucast.measure.design.cells import MPI, Cell, Timing, grid
from gpucast.measure.machine import occupants
from gpucast.measure.own import OwnRun, Work
from gpucast.measure.pathrun import identified
from gpucast.measure.paths import HOST, NATIVE, Path
from gpucast.measure.store import Store
from gpucast.measure.work import PathReport, Report, Request, Watcher


class Campaign:
    """Measures all paths into a file; a path that fails does not stop the others."""

    def __init__(self, request: Request, store: Store, watcher: Watcher) -> None:
        self._request = request
        self._store = store
        self._watcher = watcher
        self._begin = time.monotonic()
        self._report = Report(store.name)
        self._timing = _timing(request)

    def run(self) -> Report:
        """Measure everything that the file does not hold yet."""
        for program in (programs.MICROBENCH, programs.MDAPP):
            programs.find(program)
        launcher = self._launcher()
        available = self._paths()
        if not any(cells for _, _, cells in available) and not self._report.paths:
            raise InputError("no path here can run any of these cells", field="gpus")
        for index, (path, facts, cells) in enumerate(available):
            self._measure(path, facts, cells, launcher, len(available) - index)
        order = [path.label for path in self._request.paths or (HOST, NATIVE)]
        self._report.paths.sort(key=lambda path: order.index(path.path))
        return self._report

    def _paths(self) -> list[tuple[Path, Machine, list[Cell]]]:
        """Return the paths whose devices are available, with their cells; note why others are
        not."""
        available = []
        for path in self._request.paths or (HOST, NATIVE):
            try:
                environment = path.environment(self._request.secret_file)
                facts = programs.probe(path, environment)
            except GpucastError as error:
                if self._request.paths is None:
                    self._watcher.say(f"no path {path.label}: {error}")
                else:
                    self._ended(path, f"path {path.label} ended: {error}")
                continue
            available.append((path, facts, self._cells(path, facts)))
        return available

    def _cells(self, path: Path, facts: Machine) -> list[Cell]:
        choice = self._request.choice
        cores = path.threads or facts.cpu_cores or 1
        devices = len(facts.gpus) if facts.gpus is not None else cores
        ranks = int(os.environ.get("SLURM_NTASKS", devices))
        cells = grid(path.kind, devices, choice, ranks)
        absent = set(choice.gpus or ()) - {cell.gpus for cell in cells}
        if absent:
            listed = ", ".join(map(str, sorted(absent)))
            self._watcher.say(f"{path.label}: {devices} devices; GPU counts left out: {listed}")
        for schedule in set(choice.schedules or ()) - {cell.series.schedule for cell in cells}:
            self._watcher.say(f"{path.label}: {schedule} does not run there")
        return cells

    def _ended(self, path: Path, why: str) -> None:
        self._store.note(None, path.label, why)
        self._watcher.say(why)
        self._report.paths.append(PathReport(path.label, status="ended", notes=[why]))

    def _launcher(self) -> str:
        """Return the launcher's command line; empty where no schedule needs MPI processes."""
        if MPI not in (self._request.choice.schedules or ()):
            return ""
        return self._request.launcher or usual_launcher()

    def _measure(
        self, path: Path, facts: Machine, cells: list[Cell], launcher: str, paths_left: int
    ) -> None:
        machine = identified(self._store, facts, path.label, self._request.machine)
        if all(known.id != machine.id for known in self._store.machines):
            self._store.append(machine)
        seconds = self._seconds(paths_left)
        work = Work(self._request, path, machine, cells, self._timing, launcher, seconds)
        run = OwnRun(work, self._store, self._watcher)
        if path.kind == "native":
            for occupant in occupants():
                run.note(f"a GPU is in use by another program: {occupant}")
        run.run()
        self._report.paths.append(run.report)
        warning = rehearsed(machine)
        if warning is not None:
            self._watcher.say(f"path {path.label}: {warning}")
        self._report.answers += run.answers()
        self._report.fits += run.fits()

    def _seconds(self, paths_left: int) -> float | None:
        """Return this path's share of the remaining budget, which is split evenly."""
        if self._request.budget is None:
            return None
        return (self._begin + self._request.budget - time.monotonic()) / paths_left


def _timing(request: Request) -> Timing:
    if request.cell_seconds is not None:
        return Timing.of_cell(request.cell_seconds)
    if request.budget is None and request.until:
        return Timing.of_budget(float("inf"))
    return Timing() if request.budget is None else Timing.of_budget(request.budget)


def usual_launcher() -> str:
    """Return the command that starts several processes here: srun in a Slurm allocation of several
    nodes, else mpirun.

    Raises:
        InputError: neither is installed.
    """
    if int(os.environ.get("SLURM_JOB_NUM_NODES", 1)) > 1 and shutil.which("srun"):
        return "srun --ntasks={ranks} --input=0"
    if shutil.which("mpirun"):
        return "mpirun -np {ranks}"
    raise InputError("schedule mpi: neither srun nor mpirun is here", field="launcher")
