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
            if ours and row.job not in known:  # its client was killed before it could be listed
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
            use_srun=False,  # runs call srun or mpirun themselves
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

    def _remove(self, job: queue.QueuedJob) -> None:
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
