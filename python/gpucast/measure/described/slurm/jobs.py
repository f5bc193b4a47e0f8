"""The jobs of a campaign: submitted, found again, cancelled. Their folder is the book of them.

A job that is submitted has its work in ``ID_submitted.pkl``, under which name submitit puts it
once sbatch has said the number; a job without that file never begins its work. So a client that is
killed at any moment loses no job that could do something.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from submitit.core.utils import FailedJobError, FailedSubmissionError

from gpucast.errors import GpucastError
from gpucast.measure.described.slurm import queue
from gpucast.measure.described.slurm.inside import run_cells
from gpucast.measure.described.slurm.work import (
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
"""What sbatch says where the controller does not answer, or takes no more jobs for now."""


class NotSubmittedError(GpucastError):
    """sbatch refused a job; the message is what it said."""

    @property
    def is_for_now(self) -> bool:
        """Whether it may take the job later."""
        return _FOR_NOW.search(str(self)) is not None


@dataclass
class LiveJob:
    """A job that has been submitted and not been dealt with.

    Attributes:
        adopted: whether an earlier start of the campaign submitted it.
        made: visits that its records brought.
    """

    job: queue.QueuedJob
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
        """Slurm's word, or UNKNOWN."""
        return str(self.job.state)

    @property
    def waits_for(self) -> str | None:
        """Why it may wait long, in Slurm's words; None: it runs, or other jobs are before it."""
        why = str(self.job.get_info(mode="cache").get("Why", ""))
        usual = ("", "None", "Priority", "Resources", "BeginTime")
        return why if self.state == "PENDING" and why not in usual else None

    @property
    def answer(self) -> str | None:
        """The answer of ``run_cells``; ``error``: it raised one; None: the job died."""
        if not self.job.paths.result_pickle.exists():
            return None
        return "error" if self.job.exception() is not None else self.job.result()

    def under_way(self) -> tuple[str, int] | None:
        """The visit during which it died."""
        try:
            digest, number = marker_of(self.work.folder, self.id).read_text("ascii").split()
            return digest, int(number)
        except (OSError, ValueError):
            return None

    def last_line(self) -> str:
        """The last line of its log that holds anything."""
        try:
            text = self.job.paths.stdout.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return "no log: do the nodes see this folder?"
        lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
        return lines[-1][:200] if lines else ""


class Jobs:
    """The jobs of the campaign whose folder this is."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        token = hashlib.sha256(str(self.folder).encode()).hexdigest()[:8]
        self._name = f"gpucast-{token}"
        self.live: list[LiveJob] = []
        # gpucast says itself that a queue does not answer.
        logging.getLogger("submitit").setLevel(logging.ERROR)

    def adopt(self) -> list[str]:
        """Take over the jobs of earlier starts; what was left of a killed one is removed.

        Returns:
            A line for each thing that people should know.
        """
        messages = []
        if self.folder.is_dir():
            self._tidy()
            for path in sorted(self.folder.glob(f"*{_SUBMITTED}")):
                job = queue.QueuedJob(self.folder, path.name.removesuffix(_SUBMITTED))
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
        for row in queue.listed() or []:
            ours = row.name.startswith(self._name) and row.state not in queue.ENDED
            if ours and row.job not in known:  # submitted by a start that was killed meanwhile
                subprocess.run(["scancel", row.job], check=False, stderr=subprocess.DEVNULL)
        return messages

    def submit(self, work: Work, options: dict[str, str | bool], round_: int) -> LiveJob:
        """Put a job into the queue.

        Raises:
            NotSubmittedError: sbatch refuses it.
        """
        executor = queue.QueueExecutor(self.folder)
        executor.update_parameters(
            time=int(work.seconds // 60),
            job_name=f"{self._name}-g{work.shape.gpus}-r{round_}",
            wckey=None,
            nodes=work.shape.nodes,
            signal_delay_s=_SIGNAL_SECONDS,
            stderr_to_stdout=True,
            use_srun=False,  # cells call srun or mpirun themselves
            additional_parameters=dict(options),
        )
        with _uninterrupted():
            try:
                job = executor.submit(run_cells, work)
            except (FailedJobError, FailedSubmissionError, OSError) as error:
                raise NotSubmittedError(_message_of(error)) from error
            assert isinstance(job, queue.QueuedJob)
            made = LiveJob(job, work, Part(part_of(self.folder, job.job_id)))
            self.live.append(made)
        return made

    def retire(self, live: LiveJob) -> None:
        """Forget a job that is over, and remove its files, whose records have been taken over."""
        self.live.remove(live)
        for left in live.work.logs.glob(f"*{workdir_ending(live.id)}"):
            shutil.rmtree(left, ignore_errors=True)
        self._remove(live.job)

    def cancel(self) -> None:
        """Tell Slurm to end all."""
        for live in self.live:
            if not live.job.done():
                live.job.cancel(check=False)

    def close(self) -> None:
        """Remove the folder, unless jobs are left in it; Slurm may have written late to logs."""
        if not self.live:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _tidy(self) -> None:
        """Remove the files that submitit leaves after a submission and no job reads."""
        for path in self.folder.iterdir():
            if _LEFT.fullmatch(path.name):
                path.unlink(missing_ok=True)

    def _remove(self, job: queue.QueuedJob) -> None:
        # The book last: a client that is killed in between removes the rest at its next start.
        files = self.folder.glob(f"{job.job_id}[._]*")
        for path in sorted(files, key=lambda path: path.name.endswith(_SUBMITTED)):
            path.unlink(missing_ok=True)


def cluster_name() -> str:
    """As Slurm has it; ``slurm`` where it does not say."""
    try:
        done = subprocess.run(
            ["scontrol", "show", "config"], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return "slurm"
    name = re.search(r"^ClusterName\s*=\s*(\S+)", done.stdout, re.MULTILINE)
    return name[1] if name else "slurm"


def _message_of(error: BaseException) -> str:
    """The line that sbatch printed, out of submitit's message."""
    lines = [" ".join(line.split()) for line in str(error).splitlines() if line.strip()]
    errors = [line for line in lines if "error:" in line]
    return (errors or lines or [type(error).__name__])[-1][:300]


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ctrl-C and SIGTERM wait until a job that sbatch took is in the book."""
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
