"""Time data-parallel training (PyTorch DistributedDataParallel) over batch sizes and GPUs.

    python data/measure_ddp.py --gpus 1 2 --seconds 200 | tee ddp.log

Prints a line a window of steps; `batch` is the global batch, shared out evenly:

    model=resnet50 gpus=2 batch=256 visit=1 steps=20 step_time=0.01234 s samples/s=20745.5

One process a GPU (NCCL; gloo on processors without one). All cells are measured once before any is
measured again; the GPU counts of a batch follow one another. Counts below the largest are process
groups of the first ranks, while the others wait without touching their GPU.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field

import torch
import torch.distributed as dist
from ddp_models import Job, jobs
from torch import nn
from torch.nn.parallel import DistributedDataParallel

BATCHES = [16, 32, 64, 128, 256, 512]
CHUNK = 0.1
"""Steps run without waiting for the GPU while it warms up, s."""


@dataclass(frozen=True)
class Cell:
    """What is timed: a job on so many GPUs with a global batch."""

    model: str
    batch: int
    gpus: int


@dataclass
class Ranks:
    """A count's process groups: one that reduces gradients, one that agrees on times."""

    gradients: dist.ProcessGroup
    times: dist.ProcessGroup


@dataclass
class Trainer:
    """A model on a rank's device, replicated over the ranks of a count."""

    job: Job
    device: torch.device
    ranks: Ranks
    replica: DistributedDataParallel = field(init=False)
    optimizer: torch.optim.Optimizer = field(init=False)
    loss: nn.Module = field(default_factory=nn.CrossEntropyLoss)

    def __post_init__(self) -> None:
        model = self.job.model().to(self.device)
        ids = [self.device] if self.device.type == "cuda" else None
        self.replica = DistributedDataParallel(
            model, device_ids=ids, process_group=self.ranks.gradients
        )
        self.optimizer = self.job.optimizer(self.replica.parameters())

    def visit(self, samples: int, arguments: argparse.Namespace) -> Iterator[tuple[int, float]]:
        """Windows of (steps, seconds a step), after a warm-up: an idle GPU's clock is low."""
        batch = self.job.batch(samples, self.device)
        self.seconds(batch, 3)  # the first ones choose algorithms and lay out buckets
        spent, step = 0.0, self.seconds(batch, 2) / 2
        while spent < arguments.warm_up:
            steps = max(1, round(CHUNK / step))
            took = self.seconds(batch, steps)
            spent, step = spent + took, took / steps
        steps = max(5, round(arguments.window / step))
        for _ in range(arguments.windows):
            yield steps, self.seconds(batch, steps) / steps

    def seconds(self, batch: tuple[torch.Tensor, torch.Tensor], steps: int) -> float:
        """Wall time of so many steps on the slowest rank, the same on all of them."""
        self._wait()
        dist.barrier(group=self.ranks.times)
        begin = time.perf_counter()
        for _ in range(steps):
            self._step(*batch)
        self._wait()
        took = torch.tensor(time.perf_counter() - begin, dtype=torch.float64)
        dist.all_reduce(took, dist.ReduceOp.MAX, group=self.ranks.times)
        return float(took)

    def _step(self, inputs: torch.Tensor, targets: torch.Tensor) -> None:
        on_gpu = self.device.type == "cuda"
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16) if on_gpu else nullcontext():
            loss = self.loss(self.replica(inputs), targets)
        loss.backward()
        self.optimizer.step()

    def _wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)


def main() -> None:
    arguments = _arguments()
    with tempfile.TemporaryDirectory() as folder:
        rendezvous = f"file://{folder}/rendezvous"
        torch.multiprocessing.spawn(
            _work, (arguments, rendezvous, time.time()), nprocs=max(arguments.gpus)
        )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gpus", nargs="+", type=int, default=[1], help="GPU counts")
    parser.add_argument("--batches", nargs="+", type=int, default=BATCHES, help="global ones")
    parser.add_argument("--models", nargs="+", default=["resnet50", "transformer"])
    parser.add_argument("--image", type=int, default=224, help="pixels a side")
    parser.add_argument("--length", type=int, default=512, help="tokens in a sequence")
    parser.add_argument("--rounds", type=int, default=3, help="visits of a cell")
    parser.add_argument("--windows", type=int, default=2, help="lines a visit")
    parser.add_argument("--window", type=float, default=0.6, help="s of a window")
    parser.add_argument(
        "--warm-up", type=float, default=0.3, help="s before the windows of a visit"
    )
    parser.add_argument(
        "--seconds", type=float, default=3600, help="a round is begun if it ends by then"
    )
    parser.add_argument("--cpu", action="store_true", help="a process a rank without GPUs, by gloo")
    arguments = parser.parse_args()
    uneven = [(b, g) for b in arguments.batches for g in arguments.gpus if b % g]
    if uneven:
        parser.error("a batch of {} cannot be shared out evenly to {} GPUs".format(*uneven[0]))
    unknown = set(arguments.models) - set(jobs(0, 0))
    if unknown:
        parser.error(f"--models: {unknown.pop()} is none of {', '.join(jobs(0, 0))}")
    there = torch.cuda.device_count()
    if not arguments.cpu and there < max(arguments.gpus):
        parser.error(f"--gpus {max(arguments.gpus)}: {there} here; --cpu trains on processors")
    return arguments


def _work(rank: int, arguments: argparse.Namespace, rendezvous: str, begin: float) -> None:
    """What each process does; rank 0 prints."""
    world = max(arguments.gpus)
    dist.init_process_group("gloo", init_method=rendezvous, rank=rank, world_size=world)
    device = torch.device("cpu") if arguments.cpu else torch.device("cuda", rank)
    if device.type == "cuda":
        torch.cuda.set_device(device)
        torch.backends.cudnn.benchmark = True
    ranks = {count: _ranks(count, arguments.cpu) for count in sorted(set(arguments.gpus))}
    known = jobs(arguments.image, arguments.length)
    trainers: dict[tuple[str, int], Trainer] = {}
    if rank == 0:
        print(_about(device), flush=True)
    last = 0.0
    for visit in range(1, arguments.rounds + 1):
        start = _agreed(time.time())
        if visit > 1 and start - begin + last > arguments.seconds:
            break
        for cell in _cells(arguments):
            dist.barrier()
            if rank >= cell.gpus:
                continue
            key = cell.model, cell.gpus
            if key not in trainers:
                trainers[key] = Trainer(known[cell.model], device, ranks[cell.gpus])
            for steps, step in trainers[key].visit(cell.batch // cell.gpus, arguments):
                if rank == 0:
                    print(_line(cell, visit, steps, step), flush=True)
            if device.type == "cuda":
                torch.cuda.empty_cache()
        last = _agreed(time.time()) - start
        if rank == 0:
            print(f"# round {visit}: {last:.0f} s", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def _ranks(count: int, cpu: bool) -> Ranks:
    members = list(range(count))
    return Ranks(
        gradients=dist.new_group(members, backend="gloo" if cpu else "nccl"),
        times=dist.new_group(members, backend="gloo"),
    )


def _cells(arguments: argparse.Namespace) -> Iterator[Cell]:
    for model in arguments.models:
        for batch in arguments.batches:
            for gpus in arguments.gpus:
                yield Cell(model, batch, gpus)


def _agreed(moment: float) -> float:
    """The latest of all ranks' values, so that all decide alike."""
    value = torch.tensor(moment, dtype=torch.float64)
    dist.all_reduce(value, dist.ReduceOp.MAX)
    return float(value)


def _about(device: torch.device) -> str:
    parts = [f"torch {torch.__version__}"]
    if device.type == "cuda":
        nccl = ".".join(map(str, torch.cuda.nccl.version()))
        parts += [torch.cuda.get_device_name(device), f"NCCL {nccl}", "bfloat16 autocast"]
    return f"# {', '.join(parts)}; {time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())}"


def _line(cell: Cell, visit: int, steps: int, step: float) -> str:
    return (
        f"model={cell.model} gpus={cell.gpus} batch={cell.batch} visit={visit} steps={steps}"
        f" step_time={step:.6g} s samples/s={cell.batch / step:.6g}"
    )


if __name__ == "__main__":
    main()
