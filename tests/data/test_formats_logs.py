"""Logs of other programs become steps; unclear logs lead to a question, never to a guess.

Samples in ``logs/`` are made up, in the form of the programs' output; expected figures are worked
out by hand.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpucast as gc
from command_line import Run, only_json
from counting import Calls
from gpucast.data.formats import (
    PATTERN,
    Format,
    Imported,
    Options,
    formats,
    printed,
    read_file,
    recognized,
)
from gpucast.data.formats.logs import runs
from gpucast.data.formats.logs.log import Log, Part, positive
from gpucast.data.records import Step
from gpucast.errors import InputError
from gpucast.util.remarks import texts_of

JOB = {"name": "j", "n": 1e6, "steps": 1e6}
LOGS = Path(__file__).parent / "logs"
TRAINING = r"world size (?P<gpus>\d+)|global batch (?P<n>\d+)|(?P<rate>[\d.,]+) (?P<unit>samples/s)"
FORMATS = {
    file.stem: max((name for name in formats() if file.stem.startswith(name)), key=len)
    for file in sorted(LOGS.iterdir())
    if file.stem != "training"
}
"""Format of each sample, with which its name begins; training logs need --regex."""


def path_of(name: str) -> Path:
    return next(LOGS.glob(f"{name}.*"))


def imported(name: str, **options: Any) -> Imported:
    return read_file(str(path_of(name)), Options(**options))[0]


def steps_of(found: Imported) -> list[Step]:
    return [entry for entry in found.entries if isinstance(entry, Step)]


def steps(name: str, **options: Any) -> list[Step]:
    return steps_of(imported(name, **options))


def read_text(text: str, form: str, **options: Any) -> Imported:
    return formats()[form].read(text, "a.log", Options(**options))


def edited(name: str, *edits: tuple[str, str]) -> str:
    """A sample with replacements for the matches of patterns."""
    text = path_of(name).read_text()
    for pattern, new in edits:
        text, count = re.subn(pattern, new, text)
        assert count, pattern
    return text


@pytest.mark.parametrize("name", FORMATS)
def test_a_log_is_known_by_its_content(name: str) -> None:
    form = recognized(path_of(name).read_bytes(), name, Options())
    assert form is not None
    assert form.name == FORMATS[name]


Case = tuple[str, tuple[tuple[str, str], ...], dict[str, Any], str, dict[str, Any]]


def case(name: str, *edits: tuple[str, str], said: str = "", given: Any = (), **told: Any) -> Case:
    """A sample, its changes (patterns and texts), the user's options, a remark, and fields of the
    only run (tuples for several runs)."""
    return name, edits, dict(given), said, told


_NO_DEVICE_1 = ("Device 1: Example GPU 40GB, 108 CUs, 1.4 GHZ", "-")
_ONE_RANK = (
    ("the 8 GPU tasks in the 8 ranks", "the 2 GPU tasks in the 1 rank"),
    ("  PP:0,.*", "  PP:0,PME:0"),
)  # fmt: skip
_ON_CORES = ("On host node7 1 GPU.*\n|Mapping of GPU.*\n|  PP:0.*\n", "")
_ONE_THREAD = ("Using 8 MPI processes\n", "Using 1 MPI thread\nUsing 12 OpenMP threads \n")
_ON_8 = {"gpus": 8}
MLPERF_RUN = "".join(
    f':::MLLOG {{"time_ms": {time}, "event_type": "", "key": "run_{word}", "value": null}}\n'
    for time, word in ((1000, "start"), (91000, "stop"))
)
PRINTED: list[tuple[str, dict[str, Any], list[float], dict[str, Any]]] = [
    # Means over an interval; the first includes start-up.
    ("megatron", {}, [2.0105, 2.0005], {"n": 128, "gpus": 16, "unit": "sequences"}),
    # Restarted at iteration 3, and warms up again.
    ("megatron-seconds", _ON_8, [5.5, 5.25, 5.5, 5.75], {"n": 64, "gpus": 8}),
    ("mlperf", {}, [1600 / 32000.5, 1600 / 40000.5], {"n": 1600, "gpus": 16, "case": "resnet"}),
    ("hf-trainer", {}, [1 / 0.4], {"n": 64, "gpus": 8}),
    ("hf-trainer-state", {"gpus": 4, "size": 16}, [2500.5 / 250], {"n": 16, "gpus": 4}),
    ("lightning", {"size": 64}, [0.1, 0.08], {"gpus": 4}),  # of whole epochs, not of the first
    # 8 sequences of 4096 tokens over 8 GPUs at 4096 tokens a second each, the slower of two ranks.
    ("torchtitan", {}, [8 * 4096 / 8 / 4000, 1.0], {"n": 8, "gpus": 8}),
    ("deepspeed", {}, [512 / 256, 512 / 250], {"n": 512, "gpus": 16}),
    ("openclip", {}, [4.0, 4.1], {"n": 512 * 16, "gpus": 2048 // 128}),
    ("dllogger", {}, [10 / 20, 10.5 / 20], {"n": 32 * 4, "gpus": 4}),  # 247.5 x 0.5 is near 128
    ("dllogger-json", {}, [0.125], {"n": 256, "gpus": 8}),
    ("nemo", {}, [2.5, 2.4], {"n": 512, "gpus": 16}),
    ("picongpu", {}, [(150.496 - 0.02) / 750, (301.151 - 150.496) / 750],
     {"n": 256 * 256 * 512, "gpus": 8, "unit": "cells"}),
    ("amrex", {}, [0.25, 0.26], {"n": 262144 + 65536, "gpus": 4}),
    ("amrex-profile", {"steps": 100}, [12.6 / 100], {"n": 2097152, "gpus": 2}),
    # The time of two cycles; the first two warm up.
    ("athena", {"gpus": 4, "size": 4e6}, [0.26 / 2, 0.25 / 2], {"n": 4e6, "unit": "zones"}),
    ("athena-end", {"gpus": 1}, [50.0 / 1000], {"n": 64**3}),  # zone cycles over cycles
    ("specfem", {"gpus": 4, "size": 1e6}, [0.25], {}),  # the mean of the whole run
    ("wrf", {"gpus": 4, "size": 1e6}, [0.25, 0.75, 0.26], {}),  # domain 2 is in the steps of 1
    ("openfoam", {"gpus": 4, "size": 1e6}, [1.25, 1.3], {"ranks": 8, "case": "simpleFoam v2606"}),
    ("abinit", {"gpus": 4}, [25.5], {"n": 16, "ranks": 8, "case": "10.2.5"}),
    ("warpx", {}, [0.5, 0.55], {"n": 2097152, "gpus": 8}),
    ("nekrs", {}, [0.05, 0.051, 0.052], {"n": 4096, "gpus": 4, "unit": "elements"}),
    ("cp2k", {}, [5.5, 5.6], {"n": 192, "gpus": 4, "case": "CP2K version 2025.1, MD"}),
    ("espresso", {}, [3 * 60 + 20.5], {"n": 112, "gpus": 1, "case": "PWSCF 7.2"}),
    ("vasp", {"gpus": 4}, [20.25, 21.5], {"n": 64, "gpus": 4, "ranks": 4}),
    ("hpcg", {}, [57.5 / 5750], {"n": 512 * 512 * 256, "gpus": 4}),
    ("kripke", {}, [1.25e-11 * 805306368], {"n": 805306368, "gpus": 8}),
    ("serving", {}, [0.01325], {"n": 64, "gpus": 4}),
    ("serving-aiperf", {"gpus": 2}, [0.03475], {"n": 16, "gpus": 2}),
    ("fairseq", {"size": 18000}, [18.0, 18.2], {"n": 18000, "gpus": 4, "unit": "words"}),
    ("horovod", {}, [32 / 100.5, 32 / 102.5], {"n": 256, "gpus": 8, "case": "resnet18"}),
    ("tf-cnn", {}, [512 / 1630.25], {"n": 512, "gpus": 8, "case": "resnet18"}),
    ("maxtext", {}, [1.512, 1.524], {"n": 4 * 2 * 8, "gpus": 8}),
    ("ultralytics", {}, [1 / 2.01, 1 / 1.91], {"n": 64, "gpus": 4}),
    # Means of 1, 101 and 201 steps.
    ("average-meter", {"size": 256},
     [(101 * 0.605 - 21.5) / 100, (201 * 0.555 - 101 * 0.605) / 100], {"gpus": 4}),
    ("exports-history", {"size": 512}, [0.5125, 0.5105], {"gpus": 8}),
    ("exports-tensorboard", {"gpus": 2, "size": 32}, [1.0, 1.05, 1.05], {}),
    ("exports-lines", {}, [0.5, 0.25], {"n": 64, "gpus": 4}),
]  # fmt: skip
"""A sample, the options, the seconds of its only run, and fields of this run."""
READ: dict[str, Case] = {
    "lammps takes the last run and the listed devices": case(
        "lammps-gpu-screen", n=108000, unit="atoms", gpus=2, ranks=4, nodes=1, path="native",
        program="LAMMPS", case="2 Aug 2023 - Update 3, lj/cut, GPU package, mixed precision",
        seconds=[2.46912 / 1000], uncertainty=0.000005 / 2.46912,  # loop time over steps
        timestep=2e-15, said="holds several runs: 1 before",  # metal: picoseconds
    ),
    "lammps keeps every run when asked": case(
        "lammps-gpu-screen", given={"every_run": True}, seconds=([0.5 / 100], [2.46912 / 1000])
    ),
    "lammps gives no gpu time where ranks share a device": case(
        "lammps-gpu-screen", kernel=None, exchange=[0.8 / 1000]
    ),
    "lammps gives gpu time where each rank has its own device": case(
        "lammps-own-device-screen", kernel=[(0.1 + 1.5) / 200], exchange=[0.8 / 200],
        cpu=[(0.05 + 0.3 + 0.05 + 0.6) / 200],
    ),
    "lammps log echoes the pair style with its cutoff": case(
        "lammps-gpu-log", given={"gpus": 2}, gpus=2, timestep=2e-15,
        case="2 Aug 2023 - Update 3, lj/cut 2.5",
    ),
    "lammps believes that all ranks share one device and says so": case(
        "lammps-gpu-screen", _NO_DEVICE_1, ("with 2 proc", "with 4 proc"), gpus=1, nodes=1, ranks=4,
        said="4 ranks share 1 device: read as 1 GPU",
    ),
    "lammps counts nodes alike and says so": case(
        "lammps-gpu-screen", ("4 MPI tasks", "8 MPI tasks"), gpus=4, nodes=2, ranks=8,
        said="read as 2 equal nodes, 4 GPUs",
    ),
    "lammps kokkos has a gpu for each rank and no split": case(
        "lammps-kokkos", seconds=[0.0025], gpus=4, ranks=4, phases=None, timestep=2e-15
    ),  # the minimization before it is not a run of steps
    "lammps without gpus ran on cores and its crash is told": case(
        "lammps-cpu", path="host", gpus=8, ranks=4, timestep=None, exchange=[0.5 / 100],
        kernel=[(7.5 + 1.1 + 1.0) / 100], said="1 run without a final time",
    ),
    "the user overrules a single log": case(
        "lammps-cpu", given={"gpus": 2, "overrule": True}, path="native", gpus=2
    ),
    # 16.000 s over 20,000 calls of Force; 2.5 fs at 270 ns/day is the same 0.8 ms.
    "gromacs counts steps after the reset": case(
        "gromacs", seconds=[16.0 / 20000], n=81743, gpus=4, ranks=4, nodes=1, timestep=2.5e-15,
        case="2024.1, mixed, PME, rcoulomb 1 nm",
    ),
    "gromacs splits host and communication without the pme rank": case(
        "gromacs", cpu=[(0.4 + 0.3 + 1.0 + 0.2) / 20000], kernel=None,
        exchange=[(1.5 + 2.0 + 0.5 + 0.0) / 20000],
    ),
    "gromacs until 2022 names the accounting otherwise": case(
        "gromacs", (" Activity:", " Computing:"), cpu=[(0.4 + 0.3 + 1.0 + 0.2) / 20000]
    ),
    "an accounting by another name is none": case(
        "gromacs", (" Activity:", " Something:"), phases=None
    ),
    "gromacs without gpus works on cores": case(
        "gromacs", (".*(selected for|Mapping).*\n", ""), path="host", cpu=None,
        kernel=[(0.4 + 0.3 + 1.0 + 0.2 + 3.0) / 20000], exchange=[(1.5 + 2.0 + 0.5 + 0.0) / 20000],
    ),
    **{
        f"gromacs of one rank and one gpu is one gpu, {threads} threads{before}": case(
            "gromacs-hidden-gpus", ("On host node7 1 GPU", f"{before}1 GPU"), *_ONE_RANK,
            ("Using 8 MPI processes\n", f"Using 1 MPI thread\nUsing {threads} OpenMP threads \n"),
            gpus=1, ranks=1, nodes=1, path="native",
        )
        for threads in (1, 7, 16)
        for before in ("", "On host node7 ")
    },
    # The log says nothing more about the detected GPU.
    **{
        f"gromacs built for {support} that used no gpu ran on cores": case(
            "gromacs-hidden-gpus", _ON_CORES, _ONE_THREAD,
            ("Running", f"GPU support:        {support}\n    #0: NVIDIA A100, cap: 8.0\nRunning"),
            gpus=12, path="host", said=text,
        )
        for support, text in (("CUDA", "used none: taken as a run on processor cores, path host"),
                              ("OpenCL", "built for GPUs, but used none"), ("disabled", ""))
    },
    "gromacs reads the column that the header names": case(
        "gromacs-hidden-gpus", given={"gpus": 8}, seconds=[2e-6 * 86400 / 70.403]
    ),  # 2 fs in ns, s a day
    "gromacs multiplies the first node by all": case(
        "gromacs", ("on 1 node ", "on 2 nodes "), ("Using 4 MPI", "Using 8 MPI"), gpus=8, nodes=2
    ),
    "gromacs believes the rate where the accounting contradicts it": case(
        "gromacs", (" 20000       0.200", " 10000       0.200"), seconds=[0.0008]
    ),
    "openmm reporter takes differences of rows": case(
        "openmm-reporter", given={"gpus": 1, "size": 92224}, n=92224, gpus=1, timestep=4e-15,
        seconds=[2.0 / 1000, 2.05 / 1000, 2.0 / 1000],
    ),
    "openmm reporter falls back on the last speed": case(
        "openmm-reporter-speed", given={"gpus": 1, "size": 5000}, seconds=[2e-6 * 86400 / 80]
    ),
    "openmm reads decimal commas of a resaved table": case(
        "openmm-reporter", ("\t", ";"), (r"\.", ","), (",0%", ",0 %"),
        given={"gpus": 1, "size": 1000}, seconds=[2.0 / 1000, 2.05 / 1000, 2.0 / 1000],
    ),
    "openmm benchmark counts device ids and knows the tests' sizes": case(
        "openmm-benchmark-simple", n=(1067095, 2489), gpus=(2, 1),
        seconds=([20.5 / 5000], [5.0 / 20000]), case=("8.1.1, PME, mixed, NVT", ...),
    ),
    "openmm benchmark json may state atoms": case(
        "openmm-benchmark", n=(96000, ...), gpus=(1, 16), seconds=([0.002], ...),
        timestep=(2e-15, ...), path=("native", "host"),
    ),
    "openmm benchmark table has speeds": case(
        "openmm-benchmark-table", given={"gpus": 1}, n=(23558, 92224),
        seconds=([4e-6 * 86400 / 864], [4e-6 * 86400 / 345.6]),
    ),
    "openmm benchmark repeated is measured again": case(
        "openmm-benchmark-simple", (r"(?s)\A(.*)\Z", r"\1\1"), n=(1067095, 2489) * 2
    ),
    "openmm 7 counts the devices of the header": case(
        "openmm-benchmark-7", gpus=(2, ...), n=(23558, 2489), timestep=(4e-15, ...),
        seconds=([60 / 150000], [50 / 400000]),
    ),
    "namd counts devices of hosts and leaves out the first benchmark": case(
        "namd2-two-nodes", seconds=[0.0122, 0.0120], n=92224, gpus=4, ranks=4, nodes=2,
        timestep=2e-15, case="2.12, cutoff 12 A",
    ),
    "namd takes wall times where no benchmark was printed": case(
        "namd3", seconds=[0.0104, 0.0106], gpus=1, timestep=4e-15
    ),
    "namd reads s per step whatever follows": case(
        "namd2-two-nodes", ("0.0694444 days/ns", "14.4 ns/day"), seconds=[0.0122, 0.0120]
    ),
    "amber takes all steps and only devices in use": case(
        "amber-mdout", seconds=[123.40 / 50000], n=408609, gpus=1, timestep=4e-15,
        case="22, SPFP, cutoff 9 A",
    ),
    "amber counts task ids": case("amber-mdout-two-gpus", gpus=2, ranks=2, seconds=[4.40 / 10000]),
    "amber mdinfo counts completed steps": case(
        "amber-mdinfo", given={"gpus": 1, "size": 50000}, seconds=[68.0 / 85000]
    ),
    "a run without a time is named by the line where it starts": case(
        "amber-mdout", ("(?s)Average timings.*", ""), n=(), said="a.log:3: 1 run without a final"
    ),
    "hoomd benchmark repetitions are samples": case(
        "hoomd-benchmark", given={"gpus": 2, "size": 64000}, seconds=[1 / 4000, 1 / 4096, 1 / 4000]
    ),
    "hoomd 2 says particles and gpus": case(
        "hoomd-2", n=64000, gpus=2, seconds=[1 / 2500.5], case="2.9.7"
    ),
    "hoomd takes a bare number when told": case(
        "hoomd-2", ("(?s).+", "4246.912"), given={"gpus": 1, "size": 1e6}, seconds=[1 / 4246.912]
    ),
    # 125.83 / 83.89 is 1.5, the 2 (4 - 1) / 4 of an all-reduce.
    "nccl-tests are steps of bytes": case(
        "nccl-tests", n=(8, 1048576, 33554432), seconds=([25e-6], [50e-6], [400e-6]),
        gpus=(4,) * 3, nodes=(2,) * 3, unit=("B",) * 3, program=("nccl-tests all_reduce",) * 3,
    ),
    "nccl-tests in place come with every run": case(
        "nccl-tests", given={"every_run": True}, case=("float, sum", "float, sum, in place") * 3
    ),
    "osu latency is one way between two": case(
        "osu-latency", n=(1, 1024, 1048576), gpus=(2,) * 3, seconds=([2.75e-6], ..., ...),
        case=("5.9, buffers D D",) * 3,
    ),
    "osu bandwidth is seconds a message": case("osu-bandwidth", seconds=[5e-4], path="host"),
    "osu collectives have the processes that are stated": case(
        "osu-allreduce", given={"gpus": 16}, gpus=(16, 16)
    ),
    "picongpu without lines of progress takes the whole calculation": case(
        "picongpu", (r"time elapsed: .*", ""), seconds=[301.5 / 1500]
    ),
    "amr-wind prints no coarse steps": case(
        "amrex", (r"\[STEP ([0-9])\] Coarse TimeStep time: (.*)",
        r"WallClockTime in Evolve() for step \1: Pre: 0.1 Solve: 0.1 Post: 0 Total: \2"),
        seconds=[0.25, 0.26],
    ),
    "openfoam says what its processors waited": case(
        "openfoam", ("ClockTime = 13", "ClockTime = 16"), given={"gpus": 4, "size": 1e6},
        said="clock shows 16 s, but its",
    ),
    "nekrs may have the statistics of its end alone": case(
        "nekrs", ("(?m)^ *step=.*\n", ""), (r"\Z", "  solve   1.25000e+01s  23.4\n"
        "    udfExecuteStep   7.9e-04s   0.0   0.0  250\n    makef  4.2e+00s   6.8  29.0  250\n"),
        seconds=[0.05],
    ),
    "warpx called its wall time otherwise": case(
        "warpx", ("Evolve time", "Walltime"), seconds=[0.5, 0.55]
    ),
    "a step in no time at all is a fault": case(
        "athena", (r" wsec_step=\S+", ""), (r"(?<=wsec_step=)1.54e\+07", "1.1e+18"),
        given={"gpus": 4, "size": 4e6}, seconds=[4e6 / 1.6e7],
    ),
    "hpl has a size for each solution and a gpu for each process": case(
        "hpl", n=(264192, 132096), gpus=(8, 8), seconds=([50.5], [8.5]),
    ),
    "an exported panel has a run for each column, whose name says more": case(
        "exports-panel", given={"size": 512, "from_name": r"(?P<gpus>\d+)gpu"}, gpus=(8, 16),
        seconds=([1.1, 1.0, 1.05], [0.61, 0.6]),
    ),
    "serving has a run for each block, of which none lends another its concurrency": case(
        "serving", (r"(?s)\A(.*?\n)(=+ Serv.*)\Z", r"\1\2vllm serve -tp 8\n\2"), n=(64, 64),
        gpus=(4, 8),
    ),
    "lightning takes the time passed where a rate has one digit": case(
        "lightning", ("(?s)Epoch 0.*", "Epoch 0: 3%| | 8/260 [17:04<8:57:59, 0.01it/s, v_num=2]\n"),
        given={"size": 64}, seconds=[(17 * 60 + 4) / 8],
    ),
    "mlperf without a throughput times the whole run": case(
        "mlperf", ("tracked_stats", "other"), (r"\A", MLPERF_RUN), given={"steps": 100},
        seconds=[0.9],
    ),
    "mlperf's gpt3 counts tokens": case(
        "mlperf", ("resnet", "gpt3"), (r"\A", '"key": "max_sequence_length", "value": 2048\n'),
        n=1600 * 2048, unit="tokens", seconds=[1600 * 2048 / 32000.5, 1600 * 2048 / 40000.5],
    ),
    "deepspeed's older rate is a mean since the start, so that the clock counts": case(
        "deepspeed", ("RunningAvgSamplesPerSec=[0-9.]+, Curr", ""),
        (" epoch=.*global_step=", " 0/"), seconds=[16.0 / 10, 22.511 / 10],
    ),
    "deepspeed's rates of parts of a step are contradicted by the clock": case(
        "deepspeed", ("Sec=(256|250).0", "Sec=64.0"), seconds=[8.0, 8.0],
        said="a step takes 2.251 s by the time of day of its lines, but 8 s by its rates: is 512",
    ),
    "a benchmark of servers without times of tokens has their rate": case(
        "serving-aiperf",
        (r"(?s)\A.*\Z", "concurrency: 4\nOutput token throughput (per sec): 80.5\n"),
        given={"gpus": 2}, n=4, seconds=[4 / 80.5],
    ),
    "dllogger may number steps in a tuple, behind what a launcher prints": case(
        "dllogger", (r"(?s)\A.*\Z", "".join(
            f"[1,0]<stdout>:DLL 2026-01-02 07:00:0{at}.{at}00000 - (0, {at}) total_ips : 512.5\n"
            for at in (1, 2, 3))),
        given={"gpus": 1, "size": 512}, seconds=[1.1, 1.1],
    ),
    "deepspeed's pipelines print times": case(
        "deepspeed", (".*stop.*[/=]([0-9]+), Run.*",
                      r"steps: \1 loss: 1 iter time (s): 2.\1 samples/sec: 9.5"),
        seconds=[2.2, 2.3],
    ),
    "a mean since another start is none of the epoch's": case(
        "average-meter", ("21.500 .21.500.", "0.299 ( 0.700)"), given={"size": 256},
        seconds=[0.301, 0.300],
    ),
    "nccl-tests may leave out what is reduced, and the marks of comments": case(
        "nccl-tests", ("float +sum", "float     "), ("(?m)^#", " "), n=(8, 1048576, 33554432),
        seconds=([25e-6], [50e-6], [400e-6]),
    ),
    "megatron takes a batch that changes for another cell": case(
        "megatron", ("size:   128( [|] lm loss: 8)", r"size:   256\1"), n=(128, 256),
        seconds=([2.0105], [2.0005]),
    ),
    "a batch of each gpu grows with them": case(
        "lightning", given={"size": 64, "size_of": "gpu"}, n=256, gpus=4
    ),
    "carpetx differences its sums and leaves out the first iteration": case(
        "carpetx", seconds=[0.2, 0.21], n=16777216 + 2097152, unit="cells", gpus=16, ranks=16
    ),
    **{
        f"{name} as it stands": case(name, given=given, seconds=seconds, **told)
        for name, given, seconds, told in PRINTED
    },
    "gptl takes the slowest process of the step timer": case(
        "gptl", given={"gpus": 12, "size": 5400}, seconds=[157.5 / 100],  # 1,200 calls of 12
        case="prim_run_subcycle", ranks=12,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("name", "edits", "given", "said", "told"), READ.values(), ids=READ)
def test_a_log_is_read(
    name: str,
    edits: tuple[tuple[str, str], ...],
    given: dict[str, Any],
    said: str,
    told: dict[str, Any],
) -> None:
    content = read_text(edited(name, *edits), FORMATS[name], **given)
    for field, expected in told.items():
        values = expected if isinstance(expected, tuple) else (expected,)
        for run, value in zip(steps_of(content), values, strict=True):
            holder = run.phases if field in ("kernel", "cpu", "exchange") else run
            known = pytest.approx(value, rel=1e-6) if isinstance(value, (list, float)) else value
            assert value is ... or getattr(holder, field) == known, field
    assert any(said in line for line in texts_of(content.remarks)) or not said


ASKED = {
    "lammps log of the gpu package": ("lammps-gpu-log", (), {},
        "--gpus: the GPU package ran, but no line lists its devices"),
    "lammps where one device is listed under several ranks": ("lammps-gpu-screen",
        (_NO_DEVICE_1, ("with 2 proc", "with 3 proc")), {}, "lists 1 device with 4 ranks"),
    # Two devices with 3 ranks each are 6 of 7 ranks.
    "lammps where the other nodes differ": ("lammps-gpu-screen",
        (("with 2 proc", "with 3 proc"), ("4 MPI tasks", "7 MPI tasks")), {}, "of 7 ranks in all"),
    **{
        f"lammps kokkos where {limit} gpus may be shared": ("lammps-kokkos",
            (("up to 4 GPU", f"up to {limit} GPU"),), {}, "--gpus: 4 ranks with up to")
        for limit in (1, 3)
    },
    "gromacs on gpus that no line counts": ("gromacs",
        (("GPUs selected for", "accelerators picked for"),), {},
        "--gpus: works on GPUs, but no line says how many"),
    "gromacs where every rank names the same gpu": ("gromacs-hidden-gpus", (), {},
        "--gpus: all 8 ranks of a node name the same GPU"),
    "openmm reporter: gpus and size at once": ("openmm-reporter", (), {},
        "does not say on how many GPUs it ran; import with --gpus N -n SIZE (atoms)"),
    "openmm reporter: size": ("openmm-reporter", (), {"gpus": 1},
        "-n: OpenMM does not say the size (atoms)"),
    "openmm benchmark table names no device": ("openmm-benchmark-table", (), {},
        "--gpus: test 'pme' does not say on which devices"),
    "namd where machines are not listed": ("namd2-two-nodes",
        (("2 physical nodes", "3 physical nodes"),), {}, "--gpus: lists the devices of 2 of 3"),
    "amber mdinfo": ("amber-mdinfo", (), {}, "mdinfo does not name the GPUs"),
    "hoomd: trial moves": ("hoomd-2",
        (("(?s).+", "..\n.. 12.5 trial moves per second per particle"),), {},
        "a.log:2: counts trial moves"),
    "osu collectives": ("osu-allreduce", (), {}, "does not say how many processes took part"),
    "carpetx where amrex names no device": ("carpetx",
        (("HIP initialized with 16 devices.\n", ""),), {}, "--gpus: no line says how many GPUs"),
    "megatron's gpus": ("megatron-seconds", (), {}, "a.log:3: --gpus: Megatron-LM does not say"),
    "lightning's batch": ("lightning", (), {}, "-n: PyTorch Lightning does not say the size"),
    "a batch that may be each gpu's": ("dllogger", (("training_sequences_per.*", ""),), {},
        "-n: its batch of 32 may be that of each GPU (128 in all) or of all; import with -n SIZE"),
    "what rates say of the size": ("hf-trainer-state", (), {"gpus": 4},
        "-n: its times and rates imply a size of about 16; import with -n SIZE (samples)"),
    "what tokens a second say of the requests": ("serving-aiperf", ((": 16}", ": null}"),), {},
        "-n SIZE (requests; its times and rates imply a size of about 1.831)"),  # x 52.69
    "mlperf's gpt3, whose batch is not in tokens": ("mlperf", (("resnet", "gpt3"),), {},
        "-n: MLPerf does not say the size"),
    "no size whose part of each gpu is known": ("maxtext", (("Num_devices.*\n", ""),), {},
        "--gpus: MaxText does not say on how many GPUs it ran; import with --gpus N"),
    "a loop's batch": ("average-meter", (), {},
        "-n: its batch of 256 may be that of each GPU (1024 in all)"),
    "tokens where no line says how long a sequence is": ("torchtitan",
        ((", sequence length 4096", ""),), {}, "-n: torchtitan does not say the size (tokens)"),
    "steps of a whole run": ("amrex-profile", (), {},
        "AMReX states the time of the whole run, but not its steps; import with --steps STEPS"),
    "all that is open": ("amrex-profile", (("HIP.*\n|  Level.*\n", ""),), {},
        "import with --gpus N -n SIZE (cells) --steps STEPS (1: the run is the step)"),
    "nodes that only the shell knew": ("nemo", (("--nnodes=2", "--nnodes=$NODES"),), {},
        "--gpus: NeMo does not say on how many GPUs"),
    "hpl without a word on gpus": ("hpl", ((r"\(   per GPU\)", ""),), {},
        "--gpus: its P x Q processes may have a GPU each or none"),
    "espresso where processes may share a gpu": ("espresso",
        ((r"processes:  +1\n", "processes: 4\n"),), {}, "--gpus: does not say how many GPUs its"),
    "an export without times": ("exports-panel", (("perf/step_time_s", "train/loss"),), {},
        "has no column of step times or rates among Step, job-8gpu - train/loss"),
    "gptl, by the line of the loop that stands for the steps": ("gptl",
        ((".*prim_run.*\n", ""),), {}, "a.log:3: --gpus"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "edits", "given", "message"), ASKED.values(), ids=ASKED)
def test_a_log_that_leaves_something_open_asks(
    name: str, edits: tuple[tuple[str, str], ...], given: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        read_text(edited(name, *edits), FORMATS[name], **given)
    assert message in str(caught.value)
    assert str(caught.value).startswith("a.log")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("column", ["ns_per_day", "timestep_in_fs", "time steps per second"])
def test_a_table_with_a_column_of_that_name_is_no_log(column: str) -> None:
    form = recognized(f"atoms,ngpu,{column}\n1000,1,100\n".encode(), "a.csv", Options())
    assert form is not None
    assert form.name == "csv"


def test_gpus_of_a_node_complete_logs_that_say_their_nodes(tmp_path: Path) -> None:
    """The count for all GPUs would make runs on one and on two nodes the same cell."""
    text = path_of("gromacs-hidden-gpus").read_text()
    logs = []
    for nodes in (1, 2):
        logs.append(tmp_path / f"{nodes}.log")
        logs[-1].write_text(
            text.replace("on 1 node with", f"on {nodes} nodes with")
            .replace("Using 8 MPI", f"Using {8 * nodes} MPI")
            .replace("70.403", f"{70.403 * nodes}")
        )
    data = gc.read(*logs, gpus_per_node=8)
    assert [(step.nodes, step.gpus) for step in data.steps] == [(1, 8), (2, 16)]
    with pytest.raises(InputError, match=r"these are on 1, 2 nodes; .* --gpus-per-node 8"):
        gc.read(*logs, gpus=8)
    with pytest.raises(InputError, match="--gpus-per-node: conflicts with --gpus"):
        gc.read(*logs, gpus=8, gpus_per_node=8)


def test_a_collective_is_no_work_that_more_gpus_share_out() -> None:
    data = gc.read(path_of("nccl-tests"))
    assert {step.workload.name for step in data.steps if step.workload} == {"all_reduce"}
    assert not any(step.workload is None or step.workload.is_shared_out for step in data.steps)
    model = gc.fit(data)
    assert any(
        "divided among GPUs: other GPU counts are not forecast" in line for line in model.warnings
    )
    twice = model.forecasts([67108864], [4])
    assert twice.low[0] < 800e-6 < twice.high[0]
    for asked in (
        lambda: model.forecasts([33554432] * 2, [4, 32]),
        lambda: model.seconds(np.array([1e6]), np.array([2.0])),
        lambda: model.draws(np.array([1e6]), np.array([8.0]), 4),
    ):
        with pytest.raises(InputError, match=r"on the 4 GPUs measured, nothing on (32|2|8)"):
            asked()


def test_no_count_is_best_for_a_collective(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "m.json"
    gc.fit(gc.read(path_of("nccl-tests"))).save(file)
    status, out, _ = run("predict", file, "-n", "1e6", "--json")
    assert status == 0
    assert [row["gpus"] for row in only_json(out)["forecast"]] == [4]
    assert only_json(out)["best"] == []
    assert "best" not in run("predict", file, "-n", "1e6")[1]
    plan = {"machines": [{"name": "a", "model": str(file), "gpus": 4}], "jobs": [JOB]}
    (tmp_path / "plan.yaml").write_text(json.dumps(plan))
    for command in (
        ("predict", file, "-n", "1e6", "--best"),
        ("report", file, "-o", tmp_path / "r.html", "--gpus", "4"),
        ("compare", file, file, "-n", "1e6", "--gpus", "4"),
        ("plan", tmp_path / "plan.yaml"),
    ):
        status, _, err = run(*command)
        assert status == 2
        assert "all_reduce is not divided among GPUs: no count is best" in err


def test_a_collective_on_several_counts_is_refused_as_one_curve(tmp_path: Path) -> None:
    text = "# Collective test starting: all_reduce_perf\n" + path_of("nccl-tests").read_text()
    fewer = re.sub("#  Rank  [23].*\n", "", text)
    for name, log in ("a.txt", text), ("b.txt", fewer):
        (tmp_path / name).write_text(log)
    data = gc.read(tmp_path / "a.txt", tmp_path / "b.txt", program="all-reduce", case="float")
    with pytest.raises(InputError, match="is not divided among GPUs, and there are 2, 4 GPUs"):
        gc.fit(data)


# Regular expressions


def test_regex_carries_what_a_header_said() -> None:
    first, second = steps("training", regex=TRAINING, program="ddp")
    assert (first.n, first.gpus, first.unit, first.program) == (512, 8, "samples", "ddp")
    assert first.seconds == [512 / 1024, 512 / 2048]
    assert (second.n, second.seconds) == (1024, [1024 / 4096])


SEVERAL_A_LINE = "".join(f"batch: {count}, time: {8 + count / 100}\n" for count in (20, 40, 60))
OF_A_LINE = r"\btime: (?P<seconds>[\d.]+)"


def test_lines_that_count_several_steps_say_what_their_times_are_taken_for() -> None:
    options: dict[str, Any] = {"regex": OF_A_LINE, "gpus": 1, "size": 8.0}
    made = read_text(SEVERAL_A_LINE, PATTERN, **options)
    assert ["(batch) rises by 20" in told.text for told in made.remarks] == [True]
    of_all = read_text(SEVERAL_A_LINE, PATTERN, steps=20, **options)
    assert not of_all.remarks
    assert steps_of(of_all)[0].seconds == pytest.approx([8.2 / 20, 8.4 / 20, 8.6 / 20])


@pytest.mark.parametrize("tag", ["[1,0]<stdout>:", "3: ", "12: 0: "])
def test_ranks_that_a_launcher_puts_before_each_line_are_left_out(tag: str) -> None:
    log = "".join(f"{tag}{line}\n" for line in path_of("warpx").read_text().splitlines())
    (step,) = steps_of(read_text(printed(log.encode()), "warpx"))
    assert (step.n, step.gpus, step.seconds) == (2097152, 8, [0.5, 0.55])
    assert printed(b"1: a\nb\n") == "1: a\nb\n"


def test_benchmark_times_of_several_namd_runs_are_refused() -> None:
    text = "".join(
        f"Info: Benchmark time: {cpus} CPUs 0.01{digit} s/step 0.1 days/ns 9266 MB memory\n"
        for cpus, digit in ((128, 1), (128, 2), (66, 3))
    )
    with pytest.raises(InputError, match="times on 128 and 66 CPUs") as caught:
        read_text(text, "namd", gpus=4, size=92224.0)
    assert caught.value.line == 3


IN_MICROSECONDS = "devices=2 natoms=20000\nstep 1 334.3 us\nstep 2 335.3 us\n"
OF_STEPS = r"devices=(?P<gpus>\d+) natoms=(?P<n>\d+)|step \d+ (?P<seconds>[\d.]+)"


_SECONDS = r"(?P<seconds>[\d.]+)"
_EITHER = r"(?P<rate>[\d.]+)(?P<unit>it/s|s/it)"
FOUND: dict[str, tuple[str, str, list[list[float]], str]] = {
    "a unit is a group": ("step 12.5 ms", rf"step {_SECONDS} (?P<unit>ms)", [[0.0125]], ""),
    "a rate has a unit": ("4.00it/s", _EITHER, [[0.25]], ""),
    "the inverse of a rate has a unit": ("2.50s/it", _EITHER, [[2.5]], ""),
    "decimals may have a comma": ("0,0125 s", r"(?P<seconds>[\d.,]+)", [[0.0125]], ""),
    "thousands may have a point": (
        "1.024,5 img/s", r"(?P<rate>[\d.,]+) (?P<unit>img/s)", [[100 / 1024.5]], ""),
    "simulated time has a time step": (
        "86.4 ns/day", r"(?P<rate>[\d.]+) (?P<unit>ns/day)", [[0.002]], ""),
    "digits before an exponent are no thousands": (
        "Time: 1.253e+01", r"Time: (?P<seconds>\S+)", [[12.53]], ""),
    "times of several steps are told by a group": (
        "Done: 30 iter / 1.5 secs\n8 gpus\nDone: 20 iter / 2.0 secs",
        rf"(?P<steps>\d+) iter / {_SECONDS}|(?P<gpus>\d+) gpus", [[0.05], [0.1]],
        "says gpus 8, --gpus 4: its own was used"),
    "few times that are far apart may be of several runs": (
        "4 cores\nstep: 0.135\n8 cores\nstep: 0.080", rf"step: {_SECONDS}", [[0.135, 0.08]],
        "differ by a factor of 1.7"),
    "few times that are near are of one run": (
        "step: 0.135\nstep: 0.140", rf"step: {_SECONDS}", [[0.135, 0.14]], ""),
    "times of a step are not asked about": (
        SEVERAL_A_LINE.replace("time", "step time"), OF_A_LINE, [[8.2, 8.4, 8.6]], ""),
    "counts at no even distance are not asked about": (
        SEVERAL_A_LINE.replace("40", "21"), OF_A_LINE, [[8.2, 8.4, 8.6]], ""),
    "a counter of thousands of digits is none": (
        "".join(f"batch: {'9' * 5000}{count}, time: 8.5\n" for count in range(3)), OF_A_LINE,
        [[8.5] * 3], ""),
}  # fmt: skip
"""A text, an expression, the seconds of each run that it finds, and what is said of them."""


@pytest.mark.parametrize(("text", "regex", "seconds", "said"), FOUND.values(), ids=FOUND)
def test_regex_finds_runs(text: str, regex: str, seconds: list[list[float]], said: str) -> None:
    made = read_text(f"{text}\n", PATTERN, regex=regex, gpus=4, size=100, timestep=2e-15)
    assert [step.seconds for step in steps_of(made)] == [pytest.approx(one) for one in seconds]
    assert [said in told.text for told in made.remarks] == [True] * bool(said)


UNCLEAR: dict[str, tuple[str, dict[str, Any], str]] = {
    **{
        f"the option, of {pattern}": ("1,024.0 samples/s", {"regex": pattern}, message)
        for pattern, message in (
            (r"(?P<seconds>[", "--regex: is not a regular expression"),
            (r"(?P<time>\d+)", "--regex: group 'time' is unknown; there are n, gpus"),
            (r"\d+", "--regex: has no named group"),
            (r"batch (?P<n>\d+)", "--regex: needs a group seconds or rate"),
            (r"(?P<rate>[\d.,]+) samples", "--regex: rate needs a group unit"),
            (r"(?P<rate>[\d.,]+) (?P<unit>samples)", "--regex: unit 'samples' is unknown"),
        )
    },
    "a number that is two": (
        "1,024 ms", {"regex": r"(?P<seconds>[\d,]+) (?P<unit>ms)"}, "--decimal"),
    "two units": ("time (ms): 2.5 s", {"regex": _SECONDS},
                  "a.log:1: --regex: 2.5 has ms and s beside it"),
    "a rate": (IN_MICROSECONDS.replace(" us", " it/s"), {"regex": OF_STEPS},
               "a.log:2: --regex: 334.3 it/s is not a time; name it with groups rate and unit: "),
    **{
        f"columns, of {columns}": (
            IN_MICROSECONDS, {"regex": OF_STEPS, "columns": columns}, message)
        for columns, message in (
            ({"n": "natoms"}, "n=natoms names a table's column; with --regex"),
            ({"seconds": "step:us"}, "seconds=seconds:UNIT"),
            ({"seconds": "seconds"}, "seconds=seconds:UNIT"),
            ({"seconds": "rate:it/s"}, "seconds=seconds:UNIT"),
            ({"seconds": "seconds:furlong"}, "unit 'furlong' is unknown"),
        )
    },
}  # fmt: skip
"""A text, what is stated, and what the error names."""


@pytest.mark.parametrize(("text", "stated", "message"), UNCLEAR.values(), ids=UNCLEAR)
def test_regex_errors_name(text: str, stated: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_text(f"{text}\n", PATTERN, gpus=1, size=1, **stated)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("behind", "unit", "size"),
    [
        (" us", "us", 1e-6),
        ("µs", "us", 1e-6),
        (" [ms]", "ms", 1e-3),
        (" ms/step,", "ms", 1e-3),
        (" ns", "ns", 1e-9),
        (" seconds", "s", 1.0),
        (" (in ms, avg of 10)", "ms", 1e-3),
        (" ± 0.2 ms", "ms", 1e-3),
        (" millisek.", "ms", 1e-3),
        (" ms per step", "ms", 1e-3),
    ],
)
def test_a_unit_behind_the_seconds_of_regex_is_read_and_said(
    behind: str, unit: str, size: float
) -> None:
    text = IN_MICROSECONDS.replace(" us", behind)
    content = read_text(text, "regex", regex=OF_STEPS)
    (run,) = steps_of(content)
    assert run.seconds == pytest.approx([334.3 * size, 335.3 * size])
    assert content.notes == [f"times are read as {unit}, the unit beside them"]


@pytest.mark.parametrize(
    ("before", "size"),
    [
        ("elapsed time per iteration (ms): ", 1e-3), ("time [us] = ", 1e-6), ("step_ms=", 1e-3),
        ("elapsed time per iteration (s): ", 1.0), ("elapsed (min): ", 60.0), ("loss (a): ", 1.0),
        ("ms/step: ", 1e-3), ("ms per step: ", 1e-3), ("ms/it ", 1e-3), ("time_us_per_step=", 1e-6),
        ("Dauer/Schritt (Millisek.): ", 1e-3), ("millisec. ", 1e-3), ("time in ms: ", 1e-3),
        ("p50 ms: ", 1e-3), ("(min, max) time across ranks (ms): ", 1e-3), ('"step_ms": ', 1e-3),
        ("(min, avg, max): ", 1.0), ("min ", 1.0), ("second step: ", 1.0), ("the rank's ", 1.0),
        ("region=us time=", 1.0), ("12 us, step ", 1.0), ("loss us | step ", 1.0),
        ("loss=nan,step_ms=", 1e-3),
    ],
)  # fmt: skip
def test_a_unit_before_the_seconds_of_regex_is_read(before: str, size: float) -> None:
    text = f"iteration 10/ 500 | {before}38.3 | global batch size: 512 |\n"
    pattern = re.escape(before) + r"(?P<seconds>[\d.]+) \| global batch size: +(?P<n>\d+)"
    (run,) = steps_of(read_text(text, "regex", regex=pattern, gpus=8))
    assert run.seconds == [pytest.approx(38.3 * size)]


def test_more_samples_of_regex_make_no_more_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each match made a new run with a copy of all samples before it."""
    calls = Calls(monkeypatch)
    calls.watch(runs.Run, "__init__")

    def reading(count: int) -> dict[str, int]:
        text = "step 0.25 s\n" * count
        options = {"regex": r"step (?P<seconds>[\d.]+)", "gpus": 1, "size": 1}
        return calls.of(lambda: read_text(text, "regex", **options))

    assert reading(10) == reading(100)


@pytest.mark.parametrize("text", ["elapsed 2.5 min\n", "best_min=2.5\n"])
def test_min_that_may_be_the_least_beside_the_seconds_of_regex_is_asked_about(text: str) -> None:
    options = {"regex": r"(?P<seconds>[\d.]+)", "gpus": 1, "size": 1}
    message = r"min beside it .*seconds=seconds:min or seconds=seconds:"
    with pytest.raises(InputError, match=message):
        read_text(text, "regex", **options)
    (run,) = steps_of(read_text(text, "regex", **options, columns={"seconds": "seconds:min"}))
    assert run.seconds == [150.0]


@pytest.mark.parametrize(
    "behind", ["", " usual", " us_max", "% us", " atoms", " (3 ms ago)", " (1200 tokens/s)"]
)
def test_what_is_no_unit_behind_seconds_leaves_them_seconds(behind: str) -> None:
    content = read_text(f"step 1 12.5{behind}\n", "regex", regex=OF_STEPS, gpus=1, size=10)
    (run,) = steps_of(content)
    assert (run.seconds, content.notes) == ([12.5], [])


def test_long_steps_of_regex_are_asked_about_and_the_answer_is_heard() -> None:
    text = IN_MICROSECONDS.replace(" us", "")
    with pytest.raises(InputError, match=r"the median step takes .* --columns seconds=seconds:us"):
        read_text(text, "regex", regex=OF_STEPS)
    for unit, size in (("us", 1e-6), ("s", 1.0)):
        columns = {"seconds": f"seconds:{unit}"}
        content = read_text(text, "regex", regex=OF_STEPS, columns=columns)
        (run,) = steps_of(content)
        assert (run.seconds, content.notes) == (pytest.approx([334.3 * size, 335.3 * size]), [])


# Common to all


def test_what_an_older_trainer_calls_samples_a_second_is_no_rate_of_samples() -> None:
    # transformers before 4.7 divides steps by the time, as shown by its own pages for two GPUs.
    text = (
        "torchrun --nproc_per_node 2 run_clm.py --per_device_train_batch_size 4 --max_steps 200\n"
        "{'train_runtime': 101.9003, 'train_samples_per_second': 1.963, 'epoch': 0.69}\n"
    )
    (step,) = steps_of(read_text(text, "hf-trainer"))
    assert (step.n, step.gpus, step.seconds) == (8, 2, [101.9003 / 200])
    with pytest.raises(InputError, match=r"--steps: .* states the time of the whole run"):
        read_text(text.replace("--max_steps 200", ""), "hf-trainer")


def test_a_rate_is_one_sample_however_often_a_run_prints_it() -> None:
    summary = (
        "{'train_runtime': 172.8523, 'train_samples_per_second': 4.628, "
        "'train_steps_per_second': 1.157}\n"
    )
    (step,) = steps_of(read_text(2 * summary, "hf-trainer", gpus=1, size=4))
    assert step.seconds == [1 / 1.157]


def test_a_log_is_stated_by_patterns() -> None:
    def read(part: Part) -> None:
        for match in positive(part.all("step (?P<ms>[0-9.]+) ms"), "ms"):
            part.run(match.start(), [float(match["ms"]) / 1e3], runs.rounding(match["ms"]))

    log = Log(
        name="solver", what="a solver's log", read=read, program="Solver", unit="cells",
        start="^Solver ", marks=["^Solver "], case="{version}, order {order}, {unknown}",
        facts=["Solver (?P<version>[0-9.]+)", "(?P<n>[0-9]+) cells on (?P<gpus>[0-9]+) GPUs"],
        settings=["order (?P<order>[0-9])"],
    )  # fmt: skip
    text = "Solver 1.2\n500 cells on 2 GPUs\norder 1\norder 2\nstep 2.50 ms\nSolver 1.3\n"
    assert log.format.detect(text)
    assert not log.format.detect("A Solver")
    (run,) = log.parse(text).runs
    assert (run.n, run.gpus, run.seconds, run.line) == (500, 2, (0.0025,), 5)
    assert (run.case, run.uncertainty) == ("1.2, order 2", pytest.approx(0.002))


def test_help_lists_every_log(run: Run) -> None:
    shown = re.sub(r"[\s│]+", " ", run("import", "--help")[1]).replace("- ", "-")
    for form in formats().values():
        if form.log:
            assert re.sub(r"\s+", " ", form.what) in shown


def test_a_files_name_says_what_its_log_does_not(tmp_path: Path) -> None:
    copy = tmp_path / "64000-particles-2gpu.log"
    copy.write_bytes(path_of("hoomd-benchmark").read_bytes())
    pattern = r"(?P<n>\d+)-particles-(?P<gpus>\d+)gpu"
    (run,) = steps_of(read_file(str(copy), Options(from_name=pattern))[0])
    assert (run.n, run.gpus) == (64000, 2)


def test_logs_of_any_encoding_and_line_end_are_read() -> None:
    text = path_of("lammps-gpu-screen").read_text()
    spanish = "Lmod reemplaza automáticamente\n" + text
    for content in (
        spanish.encode("latin-1"),
        spanish.replace("\n", "\r\n").encode(),
        spanish.encode("utf-16"),
    ):
        (run,) = steps_of(read_text(printed(content), "lammps"))
        assert run.seconds == [2.46912 / 1000]


@pytest.mark.parametrize(
    ("names", "gpus"),
    [
        (("lammps-gpu-screen", "lammps-kokkos"), [2, 4]),
        (("namd2-two-nodes", "namd3"), [4, 1]),
        (("amber-mdout", "amber-mdout-two-gpus"), [1, 2]),
        (("gromacs", "gromacs"), [4, 4]),
        (("carpetx", "carpetx"), [16, 16]),
    ],
)
def test_a_job_that_ran_a_program_twice_has_both_runs(names: list[str], gpus: list[int]) -> None:
    job = "".join(path_of(name).read_text() for name in names)
    assert [step.gpus for step in steps_of(read_text(job, FORMATS[names[0]]))] == gpus


def test_a_job_that_ran_nccl_tests_twice_has_both_tables() -> None:
    text = path_of("nccl-tests").read_text()
    fewer = "".join(line for line in text.splitlines(keepends=True) if "Rank  3" not in line)
    records = steps_of(read_text(text + fewer, "nccl-tests"))
    assert [step.gpus for step in records] == [4, 4, 4, 3, 3, 3]


SAMPLES = {name: printed(path_of(name).read_bytes()) for name in FORMATS}
GENEROUS = Options(gpus=2, size=1000, timestep=2e-15, every_run=True)


@given(st.sampled_from(sorted(FORMATS)), st.data())
def test_a_log_cut_off_anywhere_gives_whole_runs_or_one_error(name: str, data: Any) -> None:
    text = SAMPLES[name]
    cut = text[: data.draw(st.integers(0, len(text)))]
    reader = formats()[FORMATS[name]]
    reader.detect(cut)
    entries = read_unless_refused(reader, cut)
    whole = {sample for entry in read_unless_refused(reader, text) for sample in entry.seconds}
    samples = {f"{sample:.9g}" for entry in entries for sample in entry.seconds}
    assert samples <= {f"{sample:.9g}" for sample in whole | EARLY.get(name, set())}


@pytest.mark.parametrize("figure", ["9" * 5000, "1" + "0" * 400, "0", "1e999"])
@pytest.mark.parametrize("name", FORMATS)
def test_figures_that_cannot_be_are_refused_or_left_out(name: str, figure: str) -> None:
    reader = formats()[FORMATS[name]]
    text = SAMPLES[name]
    for number in sorted(set(re.findall(r"[0-9.]{2,}", text)))[:60]:
        for step in read_unless_refused(reader, text.replace(number, figure)):
            assert all(0 < sample < float("inf") for sample in step.seconds)


def read_unless_refused(reader: Format, text: str) -> list[Step]:
    """The steps of a text; none if it is refused in one line."""
    try:
        of_node = replace(GENEROUS, gpus=None, gpus_per_node=2)
        options = of_node if reader.name == "mdbenchmark" else GENEROUS
        return steps_of(reader.read(text, "a.log", options))
    except InputError as error:
        message = str(error)
    assert "\n" not in message
    return []


EARLY = {
    "athena": {1000 / 1.6e7},
    "specfem": {0.301},
    "wrf": {2.5},
    "carpetx": {0.3},
    "gptl": {158.096},
    "namd2-two-nodes": {0.0132},
    "namd3": {0.0108},
    "openmm-reporter-speed": {2e-6 * 86400 / 86.4},
    "megatron": {4.1476},
    "megatron-seconds": {30.1, 9.5, 28.5},
    "mlperf": {1600 / 16000.5},
    "lightning": {1 / 5, 1 / 8},
    "hf-trainer": {2.50125},
    "torchtitan": {8 * 4096 / (512 * 8)},
    "deepspeed": {512 / 90.5},
    "openclip": {27.606},
    # By rates, and by the times of day of the lines.
    "dllogger-json": {0.1, 1.0, 256 / 1000.5, 256 / 2560.5, 256 / 2550.5},
    "nemo": {25.5},
    "maxtext": {33.512},
    "ultralytics": {1 / 1.67, 0.6, 0.5, 0.52},
    "fairseq": {1000 / 900.5, 1000 / 1000.5, 1000 / 990.5},
    "amrex": {1.75},
    "warpx": {3.5},
    "nekrs": {2.21},
    "cp2k": {21.680633},
    "vasp": {61.2597},
    "average-meter": {21.5, 0.301, 0.3},
    "exports-panel": {12.1, 6.62},
    "exports-history": {1.0005},
    "exports-lines": {12.5},
}
"""Values that are used until better ones are printed: a first iteration or benchmark, the timer
of all steps, an earlier average."""


@given(st.sampled_from(sorted(FORMATS)), st.data())
def test_a_damaged_log_gives_records_or_one_error(name: str, data: Any) -> None:
    text = SAMPLES[name]
    at = data.draw(st.integers(0, len(text) - 1))
    damage = data.draw(st.text("0123456789.eE+-:, \n\0\"'[]{}", max_size=6))
    length = data.draw(st.integers(0, 40))
    reader = formats()[FORMATS[name]]
    broken = text[:at] + damage + text[at + length :]
    reader.detect(broken)
    entries = read_unless_refused(reader, broken)
    assert all(0 < sample < float("inf") for entry in entries for sample in entry.seconds)
