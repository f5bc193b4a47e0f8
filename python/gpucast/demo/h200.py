"""Four H200: native, or remote over TCP? And how many?"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gpucast.data.loading import load
from gpucast.data.selection import StepSelection
from gpucast.data.steps import medians_of
from gpucast.demo.shell import command, heading, save
from gpucast.forecast.remote_cost import TENTH, Beside, beside, break_even
from gpucast.model.files import load_model
from gpucast.plots import steps
from gpucast.plots.step_series import series_of
from gpucast.util.tables import print_table
from gpucast.util.units import change, duration

DATA = "h200-x4"
SHOWN_SIZES = (1000, 8000, 32768, 110592)
SHOWN_COUNTS = (1, 2, 4)


KINDS = {
    StepSelection(
        schedule="star-async", kernel="tuned", memory="pinned"
    ): "work+linear+star-async-poll",
    StepSelection(
        schedule="star-serial", kernel="claret", memory="pageable"
    ): "residency+cached+star-serial-poll",
}
"""Steps that were measured natively and remotely, and the model of each: named, so that the fit is
spared the choice among forms."""


def native_or_remote(folder: Path) -> None:
    """Measured on both paths; and remote steps forecast from native ones, held to the measured."""
    heading("1  Four H200: native, or remote over TCP?")
    print(
        "Steps of molten-salt MD by gpucast-mdapp. Remote: the same program over four servers of\n"
        "the same host, by loopback TCP. star-async with the fast kernel sends to all GPUs at\n"
        "once; star-serial with claret is the paper's program. Fitted: the native steps.\n"
        "Forecast: remote steps, from these and from skeletons of the remote path: steps without\n"
        "their work, which take what copies and launches cost there."
    )
    panels = []
    for kind in KINDS:
        found = _forecast_and_measured(folder, kind)
        _tell(kind, found)
        panels.append((f"{kind.schedule}, {kind.kernel}", found))
    print()
    save(
        steps.extra_cost(
            panels,
            SHOWN_COUNTS,
            "Remote beside native: four H200, servers on the same host by loopback TCP",
        ),
        folder / "native-remote.png",
    )
    paths = [str(folder / f"{name}.json") for name in _models(next(iter(KINDS)))]
    command("report", *paths, "--data", DATA, "-o", str(folder / "report.html"), "--force")


def how_many(folder: Path) -> None:
    """The paper's finding on today's GPUs: a small system is slower on more of them."""
    heading("2  The paper's schedule on four H200: how many GPUs?")
    kind = StepSelection(schedule="star-serial", kernel="tuned", memory="pageable")
    model = folder / "h200.json"
    command("fit", "h200-mdapp", *options(kind), "-o", str(model), "--force")
    command("predict", str(model), "-n", "512,1000,4096,32768", "--gpus", "1-4", "--best")
    title = "gpucast-mdapp on H200s, star-serial: measured and fitted"
    series = series_of(load("h200-mdapp"), [load_model(model)])
    save(steps.gflops(series, [216, 1000, 4096, 13824, 64000], title), folder / "h200-gflops.png")


def _forecast_and_measured(folder: Path, kind: StepSelection) -> Beside:
    model, forecast = (folder / f"{name}.json" for name in _models(kind))
    command(
        *("fit", DATA, "--path", "native", *options(kind), "--model", KINDS[kind]),
        *("--replicates", "40", "-o", str(model), "--force"),
        only="error of",
    )
    command(
        *("what-if", str(model), "--transfers", DATA, "--path", "remote"),
        *("--memory", str(kind.memory), "-o", str(forecast), "--force"),
        only="Model written",
    )
    command("validate", str(forecast), DATA, "--path", "remote", only="error: ")
    data = load(DATA)
    return beside(
        medians_of(data.select(kind, path="native").steps),
        medians_of(data.select(kind, path="remote").steps),
        load_model(model),
        load_model(forecast),
    )


def options(kind: StepSelection) -> list[str]:
    """The command line's, which choose a kind."""
    return [word for name, value in kind.chosen.items() for word in (f"--{name}", str(value))]


def _models(kind: StepSelection) -> tuple[str, str]:
    """Names of the model of native steps, and of the forecast of remote ones."""
    return f"native-{kind.schedule}", f"remote-{kind.schedule}-forecast"


def _tell(kind: StepSelection, found: Beside) -> None:
    print(f"\n{kind.schedule}, {kind.kernel}, measured, and what was forecast for remote GPUs:\n")
    print_table(
        ["n", "GPUs", "native", "remote", "extra", "forecast", "error"],
        [
            [
                n,
                gpus,
                duration(found.first[i]),
                duration(found.second[i]),
                change(found.extra[i], 1),
                duration(found.expected[i]),
                change(found.error[i], 1),
            ]
            for i, (n, gpus) in enumerate(found.cells)
            if n in SHOWN_SIZES
        ],
        "rrrrrrr",
    )
    print("\nBest GPU counts, as measured:\n")
    print_table(
        ["n", "native", "step time", "remote", "step time", "extra"],
        [_best(found, n) for n in sorted({n for n, _ in found.cells})],
        "rrrrrr",
    )
    print(f"\nFrom which n on do remote GPUs cost less than {100 * TENTH:.0f} % extra?\n")
    print_table(
        ["GPUs", "measured", "forecast", "median error of forecasts"],
        [_crossing(found, gpus) for gpus in sorted({gpus for _, gpus in found.cells})],
        "rrrr",
    )
    off = float(np.median(found.error))
    print(
        f"\nThe forecast is {100 * abs(off):.0f} % too {'high' if off > 0 else 'low'} in the median"
        f" of {len(found.cells)} cells ({change(found.error.min(), 1)} ... "
        f"{change(found.error.max(), 1)})."
    )


def _best(found: Beside, n: float) -> list[object]:
    (native, first), (remote, second) = (
        found.best(n, seconds) for seconds in (found.first, found.second)
    )
    return [n, native, duration(first), remote, duration(second), change(second / first - 1, 1)]


def _crossing(found: Beside, gpus: int) -> list[object]:
    n, at = found.of_gpus(gpus)
    found_sizes = (break_even(n, extra[at]) for extra in (found.extra, found.expected_extra))
    return [
        gpus,
        *(_size(size, n[0], n[-1]) for size in found_sizes),
        change(float(np.median(found.error[at])), 1),
    ]


def _size(size: float | None, smallest: float, largest: float) -> str:
    """A break-even size, to three digits, within the sizes that were measured."""
    if size is None:
        return f"> {largest:.0f}"
    return f"<= {smallest:.0f}" if size <= smallest else f"{float(f'{size:.3g}'):.0f}"
