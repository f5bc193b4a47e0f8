"""The report in Markdown, made of an outcome."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from forecasting.markdown import missed, number, percent, table
from forecasting.outcome import Outcome
from forecasting.splits import LEFT_OUT, QUARTER
from forecasting.studies import FORECASTERS
from forecasting.targets import bounds, hit_share

TITLES = {
    "gpus": "More GPUs than were trained on",
    "sizes": "More particles than were trained on",
    "random": "Cells left out at random",
}
FORECASTER_NAMES = {
    "gpucast": "gpucast",
    "paper": "paper's form, gpucast",
    "scipy": "paper's form, scipy",
    "extrap": "Extra-P 4.2.5",
}


def report(outcome: Outcome, images: Mapping[str, str]) -> str:
    """The whole page; ``images``: titles by path relative to it."""
    parts = [
        f"# How good forecasts are: {outcome.about['data']}",
        summary(outcome),
        made_from(outcome),
        overview(outcome),
        *(f"![{title}]({path})" for path, title in images.items()),
    ]
    for at, kind in enumerate(("gpus", "sizes", "random"), start=1):
        parts += held_out(outcome, at, kind)
    parts += quarter(outcome)
    parts += what_if(outcome)
    parts += findings(outcome)
    return "\n\n".join(parts) + "\n"


# --- the beginning ---------------------------------------------------------------------------


def summary(outcome: Outcome) -> str:
    """One paragraph."""
    reached, total = outcome.counted()
    sentences = [f"**{reached} of {total} targets are reached.**"]
    for kind, words in (
        ("gpus", "Step times on more GPUs than were trained on"),
        ("sizes", "Times of more particles than were trained on"),
        ("random", "Times of cells left out at random"),
    ):
        of_groups = _usable(outcome, kind)
        if of_groups:
            sentences.append(f"{words} are forecast {_spread(of_groups)}.")
        if kind == "gpus":
            sentences += _rival_sentence(outcome) + _count_sentence(of_groups)
    remote = {k: v for k, v in outcome.what_if.items() if "refused" not in v}
    if remote:
        sentences.append(
            "Remote steps, from native steps and the remote path's microbenchmarks alone, are "
            f"forecast {_spread(remote)}."
        )
    return " ".join(sentences)


def _usable(outcome: Outcome, kind: str) -> dict[str, dict[str, Any]]:
    groups = outcome.held_out[kind].items()
    return {name: each["gpucast"] for name, each in groups if "refused" not in each["gpucast"]}


def _spread(results: Mapping[str, Mapping[str, Any]]) -> str:
    """Over groups: error of the typical and of the worst, and coverage of all their cells."""
    errors = [each["median_relative_error"] for each in results.values()]
    worst = max(results, key=lambda name: results[name]["median_relative_error"])
    covered = [cell["covered"] for each in results.values() for cell in each["cells"]]
    coverage = f"{percent(float(np.mean(covered)))} of all cells in their 90 % interval"
    if len(errors) == 1:
        return f"with a median error of {percent(errors[0])}, {coverage}"
    return (
        f"with a median error of {percent(float(np.median(errors)))} in the typical group, "
        f"{percent(max(errors))} in the worst ({worst}), {coverage}"
    )


def _rival_sentence(outcome: Outcome) -> list[str]:
    groups = [
        each
        for each in outcome.held_out["gpus"].values()
        if all("refused" not in each.get(name, {"refused": ""}) for name in FORECASTERS)
    ]
    if not groups:
        return []
    medians = {
        name: float(np.median([each[name]["median_relative_error"] for each in groups]))
        for name in FORECASTERS
    }
    return [
        f"On the same cells Extra-P's error is {percent(medians['extrap'])}, that of the paper's "
        f"form {percent(medians['scipy'])} fitted with scipy and {percent(medians['paper'])} "
        "fitted with gpucast."
    ]


def _count_sentence(of_groups: Mapping[str, Mapping[str, Any]]) -> list[str]:
    right, of = (sum(r[key] for r in of_groups.values()) for key in ("best_hits", "best_total"))
    return [f"The best GPU count is right for {right} of {of} sizes."] if of else []


def made_from(outcome: Outcome) -> str:
    """Data, machine, command, and how to read the tables."""
    about, settings = outcome.about, outcome.about["settings"]
    machines = "; ".join(
        f"`{each['id']}`: {each['gpus']}"
        + (f", {each['cpu_cores']} cores of {each['cpu']}" if each["cpu_cores"] else "")
        + (f", {each['driver']}" if each["driver"] else "")
        for each in about["machines"]
    )
    cells = sum(outcome.cells.values())
    return "\n".join(
        [
            f"Made by `{about['command']}`; no number on this page comes from elsewhere.",
            "",
            f"- **Data**: {about['data']}, {number(cells)} cells (n, GPU count) in "
            f"{len(outcome.cells)} groups, {number(about['samples'])} steps timed.",
            f"- **Machine**: {machines}.",
            "- **Group**: steps of one path, schedule, kernel and host memory. Each is fitted "
            "alone (`gpucast.fit`, which chooses the model by cross-validation within what it is "
            "given), with its path's transfers and launches.",
            "- **Error**: of the forecast relative to the median of a cell's measured steps. "
            "Median, 95th percentile (p95) and maximum are over the cells that were left out.",
            "- **Best count**: for how many n the GPU count with the least forecast time is the "
            "one with the least measured time, among all counts measured; counts trained on enter "
            "with their fitted times. **Regret**: the time lost by following the forecast.",
            "- **Coverage**: share of the left-out cells in their 90 % interval.",
            f"- Training uses at most {settings['samples']} samples of a record (evenly spaced "
            f"quantiles) and {settings['replicates']} bootstrap replicates; what is drawn at "
            f"random is drawn {settings['seeds']} times.",
            "- **Bold** figures miss their target.",
        ]
    )


def overview(outcome: Outcome) -> str:
    """One line a group."""
    verdicts = outcome.verdicts()
    rows = []
    for name, cells in outcome.cells.items():
        row: list[object] = [name, cells]
        for kind in ("gpus", "sizes", "random"):
            result = outcome.held_out[kind].get(name, {}).get("gpucast")
            row.append(_pair(result, verdicts[kind].get(name, {})))
        row.append(_pair(outcome.what_if.get(name), verdicts["what_if"].get(name, {})))
        reached, total = outcome.counted(name)
        rows.append([*row, f"{reached} of {total}"])
    headers = [
        "group: median / p95 of errors", "cells", "more GPUs", "larger n", "random cells",
        "from native steps", "targets reached",
    ]  # fmt: skip
    return table(headers, rows)


def _pair(result: Mapping[str, Any] | None, verdict: Mapping[str, bool]) -> str:
    if result is None:
        return "-"
    if "refused" in result:
        return missed("none", verdict.get("median"))
    return " / ".join(
        missed(percent(result[key]), verdict.get(figure))
        for figure, key in (("median", "median_relative_error"), ("p95", "p95_relative_error"))
    )


# --- tables 1 to 3 ---------------------------------------------------------------------------


def held_out(outcome: Outcome, at: int, kind: str) -> list[str]:
    """gpucast's table and the others'."""
    groups = outcome.held_out[kind]
    if not groups:
        return [f"## {at}. {TITLES[kind]}", "Nothing was measured that this could be tried on."]
    verdicts = outcome.verdicts()[kind]
    target = f"Targets: {bounds(kind)}." if bounds(kind) else "No target is set."
    return [
        f"## {at}. {TITLES[kind]}",
        f"{_how(outcome, kind)} {target}",
        table(
            ["group", "model", "cells", "median", "p95", "maximum (n, N)", "best count",
             "regret, mean", "maximum", "coverage", "targets"],
            [_own_row(name, each["gpucast"], verdicts[name]) for name, each in groups.items()],
            left=2,
        ),
        "The same cells by others: median / p95 / maximum error.",
        _others(groups, _errors),
        "The same, best counts right, and mean / maximum regret.",
        _others(groups, _choices),
    ]  # fmt: skip


def _how(outcome: Outcome, kind: str) -> str:
    settings = outcome.about["settings"]
    groups = _usable(outcome, kind).values()
    counts = sorted({cell["gpus"] for each in groups for cell in each["cells"]})
    earlier = outcome.about["earlier"]
    trained = f"{earlier} alone" if earlier else "up to half of the largest GPU count, all n"
    return {
        "gpus": f"Trained on {trained}; held against N = {', '.join(map(str, counts))}.",
        "sizes": f"Trained on n <= {number(settings['largest_n'])}, all GPU counts; held against "
        "larger n.",
        "random": f"{percent(LEFT_OUT)} of the cells left out, {settings['seeds']} times; cells "
        "and sizes of all times counted together.",
    }[kind]


def _own_row(name: str, result: Mapping[str, Any], verdict: Mapping[str, bool]) -> list[object]:
    if "refused" in result:
        return [name, f"none: {result['refused']}", *["-"] * 8, "missed"]
    worst = max(result["cells"], key=lambda cell: abs(cell["relative_error"]))
    hits = f"{result['best_hits']} of {result['best_total']}"
    return [
        name,
        ", ".join(dict.fromkeys(result["models"])),
        len(result["cells"]),
        missed(percent(result["median_relative_error"]), verdict.get("median")),
        missed(percent(result["p95_relative_error"]), verdict.get("p95")),
        f"{percent(result['max_relative_error'])} ({number(worst['n'])}, {worst['gpus']})",
        missed(hits, verdict.get("best count")),
        missed(percent(result["mean_regret"]), verdict.get("mean regret")),
        percent(result["max_regret"]),
        missed(percent(result["coverage"]), verdict.get("coverage")),
        _mark(verdict),
    ]


def _mark(verdict: Mapping[str, bool]) -> str:
    if not verdict:
        return "-"
    wrong = [figure for figure, reached in verdict.items() if not reached]
    return f"missed: {', '.join(wrong)}" if wrong else "reached"


def _others(groups: Mapping[str, Mapping[str, Any]], text: Any) -> str:
    names = [each for each in FORECASTERS if any(each in group for group in groups.values())]
    return table(
        ["group", *(FORECASTER_NAMES[each] for each in names)],
        [
            [name, *(text(group[each]) if each in group else "-" for each in names)]
            for name, group in groups.items()
        ],
    )


def _errors(result: Mapping[str, Any]) -> str:
    if "refused" in result:
        return "none"
    keys = ("median_relative_error", "p95_relative_error", "max_relative_error")
    return " / ".join(percent(result[key]) for key in keys)


def _choices(result: Mapping[str, Any]) -> str:
    share = None if "refused" in result else hit_share(result)
    if share is None:
        return "none"
    return f"{percent(share)}, {percent(result['mean_regret'])} / {percent(result['max_regret'])}"


# --- table 4 ---------------------------------------------------------------------------------


def quarter(outcome: Outcome) -> list[str]:
    """A quarter of the cells: chosen by design, at random; and all."""
    verdicts = outcome.verdicts()["quarter"]
    rows = []
    for name, each in outcome.quarter.items():
        verdict = verdicts.get(name, {})
        p95 = {
            which: result["p95_relative_error"]
            for which, result in each.items()
            if "refused" not in result
        }
        rows.append(
            [
                name,
                *(_error_pair(each.get(which)) for which in ("design", "random", "all")),
                missed(_ratio(p95, "design", "all"), verdict.get("design / all")),
                missed(_ratio(p95, "design", "random"), verdict.get("design / random")),
                _mark(verdict),
            ]
        )
    refused = {
        each["design"]["refused"]
        for each in outcome.quarter.values()
        if "refused" in each["design"]
    }
    return [
        "## 4. A quarter of the cells",
        f"{percent(QUARTER)} of the cells are trained on: chosen by the design of "
        "`gpucast measure` "
        "(every cell at the same price), or at random "
        f"({outcome.about['settings']['seeds']} times). Median / p95 of errors over the cells not "
        "chosen; all cells: how a fit of all of them fits those that the design did not choose. "
        f"Targets for p95: {bounds('quarter')}.",
        *(f"No design: {reason}." for reason in sorted(refused)),
        table(
            ["group", "design", "random", "all cells", "design / all", "design / random",
             "targets"],
            rows,
        ),
    ]  # fmt: skip


def _error_pair(result: Mapping[str, Any] | None) -> str:
    return "-" if result is None or "refused" in result else _pair(result, {})


def _ratio(p95: Mapping[str, float], of: str, to: str) -> str:
    return f"{p95[of] / p95[to]:.2f}" if of in p95 and to in p95 and p95[to] else "-"


# --- table 5 ---------------------------------------------------------------------------------


def what_if(outcome: Outcome) -> list[str]:
    """Remote from native."""
    title = "## 5. Remote GPUs, from native steps"
    if not outcome.what_if:
        return [title, "No steps were measured over two paths."]
    verdicts = outcome.verdicts()["what_if"]
    rows: list[list[object]] = []
    for name, each in outcome.what_if.items():
        if "refused" in each:
            rows.append([name, f"none: {each['refused']}", *["-"] * 5, "missed"])
            continue
        worst = max(each["cells"], key=lambda cell: abs(cell["relative_error"]))
        rows.append(
            [
                name,
                each["chosen"],
                len(each["cells"]),
                missed(percent(each["median_relative_error"]), verdicts[name].get("median")),
                missed(percent(each["p95_relative_error"]), verdicts[name].get("p95")),
                f"{percent(each['max_relative_error'])} ({number(worst['n'])}, {worst['gpus']})",
                percent(each["coverage"]),
                _mark(verdicts[name]),
            ]
        )
    return [
        title,
        "`gpucast.what_if`: the model of all native steps with the remote path's communication, "
        "from its skeletons where there are some, else from its transfers and launches, held "
        "against the remote steps, none of which it has seen. "
        f"Targets: {bounds('what_if')}.",
        table(
            ["group", "native model", "cells", "median", "p95", "maximum (n, N)", "coverage",
             "targets"],
            rows,
            left=2,
        ),
        "From which n on does a remote step take less than 10 % longer than a native one? "
        "Measured and forecast times are interpolated between the same sizes; the smallest of "
        "them stands where every size does.",
        table(
            ["group", "N", "measured", "forecast", "error", "extra at the largest n, measured",
             "forecast"],
            [
                row
                for name, each in outcome.what_if.items()
                for row in _break_even_rows(name, each)
            ],
        ),
    ]  # fmt: skip


def _break_even_rows(name: str, result: Mapping[str, Any]) -> list[list[object]]:
    rows: list[list[object]] = []
    for each in result.get("break_even", []):
        error = each["relative_error"]
        agree = each["measured"] is None and each["forecast"] is None
        within = agree or (error is not None and abs(error) <= 0.15)
        rows.append(
            [
                name,
                each["gpus"],
                *(_size(each[key], each["largest_n"]) for key in ("measured", "forecast")),
                missed(_apart(error, agree), within),
                *(percent(each["extra_at_largest"][key]) for key in ("measured", "forecast")),
            ]
        )
    return rows


def _apart(error: float | None, agree: bool) -> str:
    if error is None:
        return "agree" if agree else "differ"
    return f"{100 * error:+.0f} %"


def _size(n: float | None, largest: int) -> str:
    return f"beyond {number(largest)}" if n is None else number(n)


# --- table 6 ---------------------------------------------------------------------------------


def findings(outcome: Outcome) -> list[str]:
    """The paper's findings."""
    parts = [
        "## 6. The paper's findings",
        table(
            ["finding", "on these data"],
            [[each["statement"].split(" (")[0], each["verdict"]] for each in outcome.findings],
            left=2,
        ),
    ]
    for each in outcome.findings:
        if each["rows"]:
            parts += [f"**{each['statement']}**", table(each["headers"], each["rows"])]
    return parts
