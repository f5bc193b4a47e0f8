"""Published measurements: copies between GPUs, and Claret on local and remote ones."""

from __future__ import annotations

from pathlib import Path

from gpucast.data.loading import load
from gpucast.demo.shell import command, heading, save
from gpucast.model.files import load_model
from gpucast.plots import steps
from gpucast.plots.step_series import Series, series_of
from gpucast.plots.transfers import transfer_time
from gpucast.transfers.curves import fit_transfers

PATHS = {"local": "auto", "infiniband": "paper", "ethernet100": "paper"}
"""Each with its model. A what-if needs launches told from start-ups: ``auto`` may take a term with
a start-up, which these remote data cannot tell from a launch."""

SIZES = "512,1728,5832,20000,100000,1000000"


def peer_against_staged(folder: Path) -> None:
    """Source document 2: is a direct copy between GPUs worth it, and from which size?"""
    heading("3  Copies between two GPUs: peer to peer, or staged through the host?")
    command("fit", "p2p-copy")
    data = load("p2p-copy")
    fits = fit_transfers(data)
    for machine in data.machines:
        own = [fit for fit in fits if fit.machine == machine]
        save(
            transfer_time(data, own, f"Copies between two GPUs, {machine}"),
            folder / f"transfer-{machine}.png",
        )


def native_against_remote(folder: Path) -> None:
    """DS-CUDA: one program on a local GPU and on a remote one over two networks."""
    heading("4  Claret on one GeForce GTX 280: local, and remote through DS-CUDA")
    for path, model in PATHS.items():
        command(
            *("fit", "dscuda", "--path", path, "--model", model),
            *("-o", str(folder / f"{path}.json"), "--force"),
        )

    heading("5  What if: Ethernet's step times from InfiniBand's steps and Ethernet's transfers")
    print("Transfers alone are not the whole difference; launches are messages, too:")
    for launch in ("keep", "scale"):
        out = str(folder / f"what-if-{launch}.json")
        command(
            *("what-if", str(folder / "infiniband.json"), "--transfers", "dscuda"),
            *("--path", "ethernet100", "--launch", launch, "-o", out, "--force"),
        )
        command("validate", out, "dscuda", "--path", "ethernet100")

    heading("6  How many GPUs should n particles get, and local or remote ones?")
    models = [str(folder / f"{path}.json") for path in PATHS]
    command("predict", *models, "-n", SIZES, "--gpus", "1-8", "--best")
    command("compare", models[0], models[1], "-n", "512,5832,100000", "--gpus", "1,2,8")
    _plots(folder)


def _plots(folder: Path) -> None:
    data = load("dscuda")
    fits = [fit for path in list(PATHS)[1:] for fit in fit_transfers(data, path=path)]
    heading("7  Plots")
    save(
        transfer_time(data, fits, "DS-CUDA transfers over InfiniBand and 100 Mbit/s Ethernet"),
        folder / "transfer-dscuda.png",
    )
    models = {path: load_model(folder / f"{path}.json") for path in PATHS}
    what_if = load_model(folder / "what-if-scale.json")
    series = series_of(data, list(models.values()))
    forecast = Series("ethernet100, forecast from infiniband", None, (), what_if)
    title = "Claret on one GeForce GTX 280: published steps and models"
    save(steps.step_times_of_paths([*series, forecast], title), folder / "step-time-paths.png")
    own = series_of(data.select(path="infiniband"), [models["infiniband"]])
    title = "DS-CUDA over InfiniBand (N > 1 extrapolated)"
    for name, figure in {
        "step-time": steps.step_times(own, [1, 2, 4, 8], f"Step time, {title}", span=(200, 1e6)),
        "gflops": steps.gflops(own, [512, 5832, 20000, 100000], f"Gflops, {title}"),
        "shares": steps.shares(own, [1000, 5832, 100000], f"Shares of the step, {title}"),
    }.items():
        save(figure, folder / f"{name}.png")
