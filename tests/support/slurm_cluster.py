"""A real Slurm on this machine's loopback: one node with 16 made-up cores and 4 made-up GPUs.

munged, slurmctld and slurmd are Debian's (``slurmctld slurmd slurm-client munge``); they run as
root, in a folder of their own, on ports that were free. No program is isolated: GPUs are names.
"""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from waiting import until

CORES = 16
GPUS = 4
_SECONDS = 60.0
_DAEMONS = ("munged", "slurmctld", "slurmd")
_TOOLS = ("sbatch", "srun", "squeue", "scancel", "scontrol", "scontrol")

_CONF = """\
ClusterName=test
SlurmctldHost=localhost
SlurmUser=root
SlurmctldPort={ctld}
SlurmdPort={slurmd}
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
AuthInfo=socket={root}/munge.sock,cred_expire=5
StateSaveLocation={root}/state
SlurmdSpoolDir={root}/spool
SlurmctldPidFile={root}/slurmctld.pid
SlurmdPidFile={root}/slurmd.pid
SlurmctldLogFile={root}/slurmctld.log
SlurmdLogFile={root}/slurmd.log
ProctrackType=proctrack/linuxproc
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=bf_interval=1,sched_interval=2
KillWait=5
GresTypes=gpu
ReturnToService=2
SlurmdParameters=config_overrides
NodeName=localhost NodeAddr=127.0.0.1 CPUs={cores} Gres=gpu:{gpus}
PartitionName=gpu Nodes=ALL Default=YES MaxTime=INFINITE
"""


class Cluster:
    """The running one; its commands read ``environment``."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.environment = {"SLURM_CONF": str(root / "slurm.conf")}

    def run(self, *words: object) -> str:
        """What one of Slurm's commands prints; it must succeed."""
        done = subprocess.run(
            [*map(str, words)], env={**os.environ, **self.environment}, capture_output=True,
            text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{words}: {done.stderr}{self.logs()}"
        return done.stdout

    def jobs(self, *states: str) -> list[str]:
        """Ids of the jobs in any of these states; of all that are not over without any."""
        listed = self.run("squeue", "-h", "-t", ",".join(states) or "PD,R,CG,CF,S", "-o", "%i")
        return listed.split()

    def drain(self) -> None:
        """No job starts any more; those that run go on."""
        self.run("scontrol", "update", "nodename=localhost", "state=drain", "reason=test")

    def resume(self) -> None:
        """After ``drain``, also where Slurm drained the node itself."""
        state = self.run("scontrol", "show", "node", "localhost")
        if "DRAIN" in state or "DOWN" in state:
            self.run("scontrol", "update", "nodename=localhost", "state=resume")

    def is_up(self) -> bool:
        """Whether the node takes jobs."""
        done = subprocess.run(
            ["sinfo", "-h", "-o", "%T"], env={**os.environ, **self.environment},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.returncode == 0 and done.stdout.strip() in ("idle", "mixed", "allocated")

    def logs(self) -> str:
        """The last lines of the daemons' logs."""
        files = [self.root / f"{name}.log" for name in ("munge", "slurmctld", "slurmd")]
        return "\n".join(
            f"== {log.name}\n" + "\n".join(log.read_text(errors="replace").splitlines()[-15:])
            for log in files
            if log.exists()
        )


def why_not() -> str | None:
    """Why no Slurm can be started here; None: it can."""
    if os.geteuid() != 0:
        return "Slurm's daemons need root"
    path = f"{os.environ.get('PATH', '')}:/usr/sbin"
    lacking = [name for name in (*_DAEMONS, *_TOOLS) if shutil.which(name, path=path) is None]
    if lacking:
        return (
            f"no {', '.join(lacking)} (apt-get install --no-install-recommends "
            "slurmctld slurmd slurm-client munge)"
        )
    return None


@contextmanager
def slurm(root: Path) -> Iterator[Cluster]:
    """A cluster in an empty folder, which all may read: munge wants that of all above, too."""
    for folder in ("state", "spool", "gpu"):
        (root / folder).mkdir()
    for ancestor in (root, *root.parents):
        if not ancestor.stat().st_mode & 0o001:
            ancestor.chmod(ancestor.stat().st_mode | 0o055)
    ports = _free_ports(2)
    conf = _CONF.format(root=root, ctld=ports[0], slurmd=ports[1], cores=CORES, gpus=GPUS)
    (root / "slurm.conf").write_text(conf)
    (root / "gres.conf").write_text(_made_up_gpus(root / "gpu"))
    key = root / "key"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o400)
    cluster = Cluster(root)
    try:
        _start(
            cluster, "munged", f"--key-file={key}", f"--socket={root}/munge.sock",
            f"--pid-file={root}/munged.pid", f"--log-file={root}/munge.log",
            f"--seed-file={root}/seed",
        )  # fmt: skip
        _start(cluster, "slurmctld")
        _start(cluster, "slurmd", "-N", "localhost")
        begin = time.monotonic()
        while not cluster.is_up():
            assert time.monotonic() - begin < _SECONDS, cluster.logs()
            time.sleep(0.05)
        yield cluster
    finally:
        _stop(cluster)


def _start(cluster: Cluster, *words: str) -> None:
    path = f"{os.environ.get('PATH', '')}:/usr/sbin"
    subprocess.run(
        words, env={**os.environ, "PATH": path, **cluster.environment}, check=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def _stop(cluster: Cluster) -> None:
    """All jobs, then the daemons by their files of process numbers."""
    with suppress(OSError, AssertionError):
        cluster.run("scancel", "--full", "-u", "root")
        begin = time.monotonic()
        while cluster.jobs() and time.monotonic() - begin < _SECONDS:
            time.sleep(0.1)
    for name in ("slurmd", "slurmctld", "munged"):
        with suppress(OSError, ValueError):
            number = int((cluster.root / f"{name}.pid").read_text())
            os.kill(number, signal.SIGTERM)
            until(lambda number=number: not Path(f"/proc/{number}").exists())


def _made_up_gpus(folder: Path) -> str:
    """Device files like /dev/null; where none can be made, four that there are."""
    try:
        for i in range(GPUS):
            os.mknod(folder / f"g{i}", 0o020666, os.makedev(1, 3))
    except OSError:
        files = ("null", "zero", "full", "random")
        return "".join(f"NodeName=localhost Name=gpu File=/dev/{name}\n" for name in files)
    return f"NodeName=localhost Name=gpu File={folder}/g[0-{GPUS - 1}]\n"


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()
