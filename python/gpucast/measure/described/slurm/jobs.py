"""The jobs of a campaign: submits, adopts and cancels them. Their folder is the list of jobs.

The work of a submitted job is in ``ID_submitted.pkl``: submitit gives it that name once sbatch has
returned the job's number, and a job without that file does nothing. A client may thus be killed at
any moment without losing track of a job that does work.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import re
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from submitit import SlurmExecutor, SlurmJob
from submitit.core.utils import FailedJobError, FailedSubmissionError
from submitit.slurm.slurm import SlurmInfoWatcher

from gpucast.errors import GpucastError
from gpucast.measure.described.slurm.inside import run_cells
from gpucast.measure.described.slurm.options import Shape
from gpucast.measure.described.slurm.work import (
    Key,
    Part,
    Work,
    marker_of,
    part_of,
    workdir_ending,
)
from gpucast.util.signals import handled

_SUBMITTED = "_submitted.pkl"
_LEFT = re.compile(r"[0-9a-f]{32}\.pkl|\.submission_file_[0-9a-f]{32}\.sh")
_SIGNAL_SECONDS = 60


_FOR_NOW = re.compile(
    r"unable to contact|timed out|temporarily|try again|communication|connection|slurmctld|"
    r"submit limit|MaxSubmit|AssocGrp|QOS.*Limit",
    re.IGNORECASE,
)
"""sbatch's messages when the controller does not answer, or accepts no more jobs at present."""


class NotSubmittedError(GpucastError):
    """sbatch refused a job; the message is sbatch's."""

    @property
    def is_for_now(self) -> bool:
        """Whether sbatch may accept the job later."""
        return _FOR_NOW.search(str(self)) is not None


@dataclass
class LiveJob:
    """A submitted job whose results have not all been copied.

    Attributes:
        adopted: whether an earlier start of the campaign submitted it.
        made: number of visits in its records.
    """

    job: QueuedJob
    work: Work
    part: Part
    adopted: bool = False
    made: int = 0
    failed: set[tuple[str, int]] = field(default_factory=set)

    @property
    def id(self) -> str:
        """Slurm's number."""
        return str(self.job.job_id)

    @property
    def state(self) -> str:
        """Slurm's name of its state, or UNKNOWN."""
        return str(self.job.state)

    @property
    def waits_for(self) -> str | None:
        """Slurm's reason why it may wait long; None if it runs or is simply queued behind other
        jobs."""
        why = str(self.job.get_info(mode="cache").get("Why", ""))
        usual = ("", "None", "Priority", "Resources", "BeginTime")
        return why if self.state == "PENDING" and why not in usual else None

    @property
    def answer(self) -> str | None:
        """What ``run_cells`` returned; ``error`` if it raised one, None if the job died."""
        if not self.job.paths.result_pickle.exists():
            return None
        return "error" if self.job.exception() is not None else self.job.result()

    def under_way(self) -> tuple[str, int] | None:
        """Return the visit during which it died."""
        try:
            digest, number = marker_of(self.work.folder, self.id).read_text("ascii").split()
            return digest, int(number)
        except (OSError, ValueError):
            return None

    def last_line(self) -> str:
        """Return the last line of its log that is not empty."""
        try:
            text = self.job.paths.stdout.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return "no log: do the nodes see this folder?"
        lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
        return lines[-1][:200] if lines else ""


class Jobs:
    """The jobs of a campaign, in the campaign's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        token = hashlib.sha256(str(self.folder).encode()).hexdigest()[:8]
        self._name = f"gpucast-{token}"
        self.live: list[LiveJob] = []
        # gpucast itself reports a queue that does not answer.
        logging.getLogger("submitit").setLevel(logging.ERROR)

    def adopt(self) -> list[str]:
        """Adopt the jobs of earlier starts, and remove what a killed start left behind.

        Returns:
            Messages for the user.
        """
        messages = []
        if self.folder.is_dir():
            self._tidy()
            for path in sorted(self.folder.glob(f"*{_SUBMITTED}")):
                job = QueuedJob(self.folder, path.name.removesuffix(_SUBMITTED))
                try:
                    (work,) = job.submission().args
                except Exception as error:  # whatever an unpickler may raise
                    messages.append(f"job {job.job_id} is of another version ({error}): cancelled")
                    job.cancel(check=False)
                    self._remove(job)
                    continue
                part = Part(part_of(self.folder, job.job_id))
                self.live.append(LiveJob(job, work, part, adopted=True))
        known = {live.id for live in self.live}
        for row in listed() or []:
            ours = row.name.startswith(self._name) and row.state not in ENDED
            if ours and row.job not in known:  # its client was killed before it could be listed
                subprocess.run(["scancel", row.job], check=False, stderr=subprocess.DEVNULL)
        return messages

    def submit(self, work: Work, options: dict[str, str | bool], round_: int) -> LiveJob:
        """Put a job into the queue.

        Raises:
            NotSubmittedError: sbatch refuses it.
        """
        executor = QueueExecutor(self.folder)
        executor.update_parameters(
            time=int(work.seconds // 60),
            job_name=f"{self._name}-g{work.shape.gpus}-r{round_}",
            wckey=None,
            nodes=work.shape.nodes,
            signal_delay_s=_SIGNAL_SECONDS,
            stderr_to_stdout=True,
            use_srun=False,  # runs call srun or mpirun themselves
            additional_parameters=dict(options),
        )
        with _uninterrupted():
            try:
                job = executor.submit(run_cells, work)
            except (FailedJobError, FailedSubmissionError, OSError) as error:
                raise NotSubmittedError(_message_of(error)) from error
            assert isinstance(job, QueuedJob)
            made = LiveJob(job, work, Part(part_of(self.folder, job.job_id)))
            self.live.append(made)
        return made

    def retire(self, live: LiveJob) -> None:
        """Forget an ended job whose records have been copied, and remove its files."""
        self.live.remove(live)
        for left in live.work.logs.glob(f"*{workdir_ending(live.id)}"):
            shutil.rmtree(left, ignore_errors=True)
        self._remove(live.job)

    def cancel(self) -> None:
        """Cancel all jobs."""
        for live in self.live:
            if not live.job.done():
                live.job.cancel(check=False)

    def close(self) -> None:
        """Remove the folder unless it still has jobs; Slurm may have added to its logs late."""
        if not self.live:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _tidy(self) -> None:
        """Remove the files that submitit leaves after a submission and that no job reads."""
        for path in self.folder.iterdir():
            if _LEFT.fullmatch(path.name):
                path.unlink(missing_ok=True)

    def _remove(self, job: QueuedJob) -> None:
        # The submission file goes last: a start after a kill in between then removes the rest.
        files = self.folder.glob(f"{job.job_id}[._]*")
        for path in sorted(files, key=lambda path: path.name.endswith(_SUBMITTED)):
            path.unlink(missing_ok=True)


def cluster_name() -> str:
    """Return the cluster's name; ``slurm`` if Slurm does not tell it."""
    try:
        done = subprocess.run(
            ["scontrol", "show", "config"], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return "slurm"
    name = re.search(r"^ClusterName\s*=\s*(\S+)", done.stdout, re.MULTILINE)
    return name[1] if name else "slurm"


def _message_of(error: BaseException) -> str:
    """Extract the line that sbatch printed from submitit's message."""
    lines = [" ".join(line.split()) for line in str(error).splitlines() if line.strip()]
    errors = [line for line in lines if "error:" in line]
    return (errors or lines or [type(error).__name__])[-1][:300]


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Delay Ctrl-C and SIGTERM until a job that sbatch accepted is listed."""
    came: list[tuple[int, FrameType | None]] = []
    later = dict.fromkeys((signal.SIGINT, signal.SIGTERM), lambda *sent: came.append(sent))
    try:
        with handled(later) as before:
            yield
    finally:
        if came:
            handler = before[signal.Signals(came[0][0])]
            if callable(handler):
                handler(*came[0])


# --- visits that a job left undone ---


TRIES = 3
"""How many jobs of one shape may end without a visit, or during the same visit."""

_BY_OTHERS = frozenset({"CANCELLED", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "REVOKED", "GONE",
                        "DEADLINE"})  # fmt: skip
"""States in which jobs end for reasons other than their own work."""

_ENDS = {"timeout": "TIMEOUT", "error": "FAILED"}
"""Slurm's states by what ``run_cells`` returned; squeue may not know them yet."""


@dataclass(frozen=True)
class Verdict:
    """Attributes: ended: how the job ended, if the user should know. given_up: visits that are not
    tried again, and ``why``.
    """

    ended: str | None = None
    given_up: Sequence[Key] = ()
    why: str = ""


class Losses:
    """Counts failures of jobs, by visit and by shape."""

    def __init__(self) -> None:
        self._deaths: Counter[Key] = Counter()
        self._barren: Counter[Shape] = Counter()

    def after(self, job: LiveJob, lost: Sequence[Key]) -> Verdict:
        """Return the verdict on a job that has ended, given all earlier ones; ``lost``: the visits
        that it left undone."""
        shape, answer, killer = job.work.shape, job.answer, job.under_way()
        if job.made or not lost:
            del self._barren[shape]
        if not lost or answer in ("time", "allowance"):
            return Verdict()
        ended = _ENDS.get(answer or "", job.state)
        if killer is not None and answer == "timeout" and not job.made:
            return Verdict(ended, [killer], "takes longer than the time limit of a job")
        if ended in _BY_OTHERS:
            return Verdict(ended)
        if killer is not None:
            self._deaths[killer] += 1
            if self._deaths[killer] >= TRIES:
                why = f"{TRIES} jobs ended while it ran (the last: {ended})"
                return Verdict(ended, [killer], why)
        if not job.made:
            self._barren[shape] += 1
            if self._barren[shape] >= TRIES:
                why = f"{TRIES} jobs ended without a visit (the last: {ended}, {job.last_line()})"
                return Verdict(ended, lost, why)
        return Verdict(ended)


# --- Slurm's queue as squeue lists it ---
#
# submitit itself asks sacct, which does not work on a cluster without accounting: a cancelled job
# would stay UNKNOWN for ever.


GONE = "GONE"
"""State of a job that squeue no longer lists."""

ENDED = frozenset({
    GONE, "BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL",
    "OUT_OF_MEMORY", "PREEMPTED", "REVOKED", "TIMEOUT",
})  # fmt: skip
"""Final states of a job."""

SECONDS = 30
"""Longest time between two queries of the queue; new jobs are queried more often."""

_COMMAND = ["squeue", "--noheader", "--states=all", "--me", "--format=%i|%T|%N|%j|%r"]
_TIMEOUT = 120.0


@dataclass(frozen=True)
class Listed:
    """A job of this user in the queue.

    Attributes:
        why: Slurm's reason why it waits.
    """

    job: str
    state: str
    name: str
    why: str


def listed() -> list[Listed] | None:
    """Return all jobs of this user that squeue still knows; None if it does not answer."""
    try:
        done = subprocess.run(
            _COMMAND, capture_output=True, text=True, timeout=_TIMEOUT, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    rows = [line.split("|") for line in done.stdout.splitlines()]
    return [Listed(row[0], row[1], row[3], row[4]) for row in rows if len(row) >= 5]


class QueueWatcher(SlurmInfoWatcher):
    """States of jobs from squeue; they stay as they are if it does not answer."""

    def update(self) -> None:
        """Query all jobs at once: squeue would fail if one that is named is unknown."""
        if not self._registered - self._finished:
            return
        self._num_calls += 1
        rows = listed()
        self._last_status_check = time.time()
        if rows is None:
            return
        states = {row.job: row for row in rows}
        for job in self._registered - self._finished:
            known = states.get(job)
            self._info_dict[job] = {
                "State": known.state if known else GONE,
                "Why": known.why if known else "",
            }
            if self.is_done(job, mode="cache"):
                self._finished.add(job)

    def is_done(self, job_id: str, mode: str = "standard") -> bool:
        """Whether the job's state is final."""
        return self.get_state(job_id, mode=mode).upper() in ENDED


class QueuedJob(SlurmJob[str]):
    """A job whose state squeue tells."""

    watcher = QueueWatcher(delay_s=SECONDS)


class QueueExecutor(SlurmExecutor):
    """Submits jobs whose states squeue tells."""

    job_class: type[Any] = QueuedJob
