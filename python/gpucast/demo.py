"""The main job, ``make demo``: from measurements to answers, with the commands shown.

First published measurements, then step times of this machine, measured on the spot. Everything
printed below a ``$`` line is what that command prints; type it to get it again.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gpucast import figures
from gpucast.cli.app import run
from gpucast.datasets import load
from gpucast.errors import GpucastError
from gpucast.models import load_model
from gpucast.transfers import fit_transfers

PATHS = ("local", "infiniband", "ethernet100")
SIZES = "512,1728,5832,20000,100000,1000000"

MDAPP = Path(sys.executable).with_name("gpucast-mdapp")
MOST_THREADS = 4
"""Of the live part: more would not make it any clearer."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo; exit status as for commands."""
    parser = argparse.ArgumentParser(prog="python -m gpucast.demo", description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=Path("out/demo"), metavar="FOLDER")
    folder: Path = parser.parse_args(arguments).output
    try:
        folder.mkdir(parents=True, exist_ok=True)
        peer_against_staged(folder)
        native_against_remote(folder)
        four_gpus(folder)
        this_machine(folder)
    except GpucastError as error:
        print(f"gpucast: error: {error}", file=sys.stderr)
        return error.exit_status
    except OSError as error:
        print(f"gpucast: error: {error}", file=sys.stderr)
        return 2
    return 0


def peer_against_staged(folder: Path) -> None:
    """Source document 2: is a direct copy between GPUs worth it, and from which size?"""
    _heading("1  Copies between two GPUs: peer to peer, or staged through the host?")
    _command("fit", "p2p-copy")
    data = load("p2p-copy")
    fits = fit_transfers(data)
    for machine in data.machines:
        own = [fit for fit in fits if fit.machine == machine]
        _save(
            figures.transfer_time(data, own, f"Copies between two GPUs, {machine}"),
            folder / f"transfer-{machine}.png",
        )


def native_against_remote(folder: Path) -> None:
    """DS-CUDA: one program on a local GPU and on a remote one over two networks."""
    _heading("2  Claret on one GeForce GTX 280: local, and remote through DS-CUDA")
    for path in PATHS:
        _command("fit", "dscuda", "--path", path, "-o", str(folder / f"{path}.json"), "--force")

    _heading("3  What if: Ethernet's step times from InfiniBand's steps and Ethernet's transfers")
    print("Transfers alone are not the whole difference; launches are messages, too:")
    for launch in ("keep", "scale"):
        out = str(folder / f"what-if-{launch}.json")
        _command(
            *("what-if", str(folder / "infiniband.json"), "--transfers", "dscuda"),
            *("--path", "ethernet100", "--launch", launch, "-o", out, "--force"),
        )
        _command("validate", out, "dscuda", "--path", "ethernet100")

    _heading("4  How many GPUs should n particles get, and local or remote ones?")
    models = [str(folder / f"{path}.json") for path in PATHS]
    _command("predict", *models, "-n", SIZES, "--gpus", "1-8", "--best")
    _command("compare", models[0], models[1], "-n", "512,5832,100000", "--gpus", "1,2,8")
    _plots(folder)


def four_gpus(folder: Path) -> None:
    """The paper's finding on today's GPUs: a small system is slower on more of them."""
    _heading("6  gpucast-mdapp on four H200, the paper's schedule: how many GPUs?")
    kind = ("--schedule", "star-serial", "--kernel", "tuned", "--memory", "pageable")
    model = folder / "h200.json"
    _command("fit", "h200-mdapp", *kind, "-o", str(model), "--force")
    _command("predict", str(model), "-n", "512,1000,4096,32768", "--gpus", "1-4", "--best")
    _save(
        figures.gflops(
            load_model(model),
            load("h200-mdapp"),
            [216, 1000, 4096, 13824, 64000],
            np.arange(1.0, 5.0),
            "gpucast-mdapp on H200s, star-serial: measured and fitted",
        ),
        folder / "h200-gflops.png",
    )


def this_machine(folder: Path) -> None:
    """Steps measured now, on CPU threads that act as GPUs; larger sizes forecast, then measured."""
    threads = min(len(os.sched_getaffinity(0)), MOST_THREADS)
    counts = "1" if threads == 1 else f"1-{threads}"
    _heading(f"7  This machine, live: gpucast-mdapp on {counts} CPU threads that act as GPUs")
    steps, unseen = folder / "live.jsonl", folder / "live-unseen.jsonl"
    for sizes, output in (("512,1000,1728,2744,4096", steps), ("5832,8000", unseen)):
        _measure(
            *("--engine", "host", "--n", sizes, "--gpus", counts, "--kernel", "tuned"),
            *("--max-time", "0.5", "-o", str(output), "--force"),
        )
    model = folder / "live.json"
    _command("fit", str(steps), "-o", str(model), "--force")
    _heading("8  Are the larger systems as forecast? And how many threads should they get?")
    _command("validate", str(model), str(unseen))
    _command("predict", str(model), "-n", "64,1000,8000,100000", "--gpus", counts, "--best")
    n = np.unique(np.round(np.geomspace(256, 20000, 300)))
    _save(
        figures.step_time(
            load_model(model),
            load(str(steps)),
            list(range(1, threads + 1)),
            n,
            "gpucast-mdapp on this machine's CPU threads",
        ),
        folder / "live-step-time.png",
    )


def _plots(folder: Path) -> None:
    data = load("dscuda")
    fits = [fit for path in PATHS[1:] for fit in fit_transfers(data, path=path)]
    _heading("5  Plots")
    _save(
        figures.transfer_time(
            data, fits, "DS-CUDA transfers over InfiniBand and 100 Mbit/s Ethernet"
        ),
        folder / "transfer-dscuda.png",
    )
    models = {path: load_model(folder / f"{path}.json") for path in PATHS}
    what_if = load_model(folder / "what-if-scale.json")
    n = np.unique(np.round(np.geomspace(64, 20000, 300)))
    _save(
        figures.step_time_of_paths(
            [*models.items(), ("ethernet100, forecast from infiniband", what_if)],
            data,
            n,
            "Claret on one GeForce GTX 280: published steps and models",
        ),
        folder / "step-time-paths.png",
    )
    model = models["infiniband"]
    wide = np.unique(np.round(np.geomspace(200, 1e6, 400)))
    gpus = np.arange(1.0, 9.0)
    title = "DS-CUDA over InfiniBand (N > 1 extrapolated)"
    _save(
        figures.step_time(model, data, [1, 2, 4, 8], wide, f"Step time, {title}"),
        folder / "step-time.png",
    )
    _save(
        figures.gflops(model, data, [512, 5832, 20000, 100000], gpus, f"Gflops, {title}"),
        folder / "gflops.png",
    )
    _save(
        figures.term_shares(model, [1000, 5832, 100000], gpus, f"Shares of the step, {title}"),
        folder / "shares.png",
    )


def _heading(text: str) -> None:
    print(f"\n{text}\n{'=' * len(text)}")


def _command(*arguments: str) -> None:
    """Show a command line, run it as the shell would, and stop the demo if it fails."""
    print(f"\n$ gpucast {' '.join(arguments)}", flush=True)
    status = run(arguments)
    sys.stdout.flush()
    if status != 0:
        raise GpucastError(f"gpucast {arguments[0]} ended with exit status {status}")


def _measure(*arguments: str) -> None:
    """Show a command line of ``gpucast-mdapp measure`` and run it; its progress goes to stderr."""
    print(f"\n$ gpucast-mdapp measure {' '.join(arguments)}", flush=True)
    finished = subprocess.run([MDAPP, "measure", *arguments], check=False)
    if finished.returncode != 0:
        raise GpucastError(f"gpucast-mdapp measure ended with exit status {finished.returncode}")


def _save(figure: figures.Figure, path: Path) -> None:
    figures.save(figure, path, force=True)
    print(f"wrote {path}")


if __name__ == "__main__":
    sys.exit(main())
