"""``gpucast plan``: tables, JSON, files."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
import yaml

import gpucast as gc
from command_line import Run, only_json
from gpucast.cli import plan as tables
from planning_samples import hosts_plan, models, only_native, values

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "plan.yaml"

OPTION = {
    *(
        "machine",
        "gpus",
        "instances",
        "n",
        "steps",
        "step_seconds",
        "step_low",
        "step_high",
        "seconds",
        "low",
        "high",
    ),
    *("checkpoint_hours", "restart_hours", "cost_per_million", "units_per_second"),
    *("gpu_hours", "cost", "ns_per_day", "efficiency", "peak_efficiency", "probability_in_time"),
    "extrapolated",
}
KEYS = {
    "": {
        *("schema", "currency", "probability", "baseline", "machines", "jobs", "capacity", "mix"),
        *("iso_efficiency", "break_even", "replicates", "caveats", "interval", "purchase"),
        *("same_model", "unpriced", "buying", "budget"),
    },
    "jobs": {
        *("name", "n", "steps", "count", "deadline", "ns_per_day", "fastest", "cheapest"),
        *("fewest_gpu_hours", "size_of", "unit", "budget", "over_budget"),
        *("advised", "meets_deadline", "deadline_cost", "others", "front"),
    },
    "others": {
        *("machine", "extra_seconds", "extra_seconds_low", "extra_seconds_high"),
        *("probability_faster", "extra_cost", "extra_cost_low", "extra_cost_high"),
        "probability_cheaper",
    },
    "mix": {
        *("copies", "done", "share", "makespan", "late", "cost", "probability", "schedule"),
    },
    "size": {"gpus", "n", "low", "high", "reached", "probability_reached", "extrapolated"},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documented example beside models of its machines, and a plan of all kinds of jobs."""
    path = tmp_path_factory.mktemp("example")
    for name, model in models().items():
        model.save(path / f"{name}.json")
    shutil.copy(EXAMPLE, path / "plan.yaml")
    (path / "all.yaml").write_text(yaml.safe_dump(values(window="2h", break_even=0.5)))
    return path


def loaded(folder: Path) -> dict[str, gc.Model]:
    """The models as their files hold them, to nine digits."""
    return {name: gc.load_model(folder / f"{name}.json") for name in ("native", "remote")}


def arguments(folder: Path, plan: str = "plan.yaml") -> list[str | Path]:
    return ["plan", folder / plan, folder / "native.json", folder / "remote.json"]


@pytest.mark.parametrize("plan", ["plan.yaml", "all.yaml"])
def test_tables_fit_a_hundred_columns(run: Run, folder: Path, plan: str) -> None:
    status, out, _ = run(*arguments(folder, plan))
    assert status == 0
    assert max(len(line) for line in out.splitlines()) <= 100
    for words in ("What each job should get", "Beside native", "What less time costs", "together"):
        assert words in out


def test_json_has_the_keys_that_are_documented(run: Run, folder: Path) -> None:
    status, out, _ = run(*arguments(folder), "--json")
    assert status == 0
    answer = only_json(out)
    assert set(answer) == KEYS[""]
    job = answer["jobs"][0]
    assert set(job) == KEYS["jobs"]
    assert set(job["advised"]) == set(job["front"][0]) == OPTION
    assert set(job["fastest"]) == set(job["cheapest"]) == OPTION | {"probability"}
    assert set(job["others"][0]) == KEYS["others"]
    assert set(answer["mix"]) == KEYS["mix"]
    for key in ("iso_efficiency", "break_even"):
        assert set(answer[key]["machines"][0]["sizes"][0]) == KEYS["size"]
    documented = (EXAMPLE.parents[1] / "plan.md").read_text()
    for keys in (OPTION, *KEYS.values()):
        for key in keys:
            assert f"`{key}`" in documented, key


def test_the_file_holds_what_json_prints_and_python_returns(
    run: Run, folder: Path, tmp_path: Path
) -> None:
    _, out, _ = run(*arguments(folder, "all.yaml"), "--json", "-o", tmp_path / "a.json")
    written = json.loads((tmp_path / "a.json").read_text())
    assert written == only_json(out)
    again = gc.plan(folder / "all.yaml", loaded(folder)).content
    assert json.loads(json.dumps(again)) == written
    status, _, _ = run(*arguments(folder, "all.yaml"), "-o", tmp_path / "a.json", "--force")
    assert status == 0


def test_models_named_by_the_plan_lie_beside_it(folder: Path, tmp_path: Path) -> None:
    plan = values()
    for named in plan["machines"]:
        named["model"] = f"{named['name']}.json"
    (folder / "named.yaml").write_text(yaml.safe_dump(plan))
    assert gc.plan(folder / "named.yaml").content == gc.plan(values(), loaded(folder)).content


def test_the_only_model_of_the_only_machine_may_have_any_name() -> None:
    plan = {"machines": values()["machines"][:1], "jobs": values()["jobs"][:1]}
    named = gc.plan(plan, only_native()).content
    assert gc.plan(plan, {"gmx": only_native()["native"]}).content == named


def test_yaml_numbers_are_those_of_today() -> None:
    text = "machines: [{name: native, gpus: 4, price_per_gpu_hour: 1e0}]\n"
    text += 'jobs: [{name: "1e3", n: 8e3, steps: 1E+6, deadline: .5e4}]\n'
    from gpucast.util.yaml_lines import parse

    parsed, lines = parse(text, "plan.yaml")
    (job,) = gc.plan(parsed, only_native()).content["jobs"]
    assert (job["name"], job["n"], job["steps"], job["deadline"]) == ("1e3", 8000, 10**6, 5000.0)
    assert lines.line(("jobs", 0, "deadline")) == 2


def test_sizes_alone_need_no_jobs(run: Run, folder: Path) -> None:
    plan = {key: value for key, value in values(iso_efficiency=0.8).items() if key != "jobs"}
    (folder / "sizes.yaml").write_text(yaml.safe_dump(plan))
    status, out, _ = run(*arguments(folder, "sizes.yaml"))
    assert status == 0
    assert out.strip().startswith("From which n on are N GPUs 80 % efficient?")


def test_what_is_to_be_bought_is_said_beside_what_would_be_enough(run: Run, folder: Path) -> None:
    plan, _, _ = hosts_plan(7.0)
    (folder / "hosts.yaml").write_text(yaml.safe_dump(plan))
    status, out, _ = run("plan", folder / "hosts.yaml", folder / "native.json")
    assert status == 0
    first, second, third = out.splitlines()[:3]
    assert first == (
        "native: 6 GPUs are enough for all 3 simulations to be in time with 90 %, "
        "of 2 to 9 in hosts of 2."
    )
    assert re.fullmatch(r"4 would be, but with 6 jobs cost less: [\d.]+ USD, not [\d.]+\.", second)
    assert third == "What follows is with 6."


def test_a_deadline_that_nothing_meets_is_said_so(run: Run, folder: Path) -> None:
    plan = values(window="2s")
    plan["jobs"] = [{**plan["jobs"][0], "deadline": "1s"}]
    (folder / "late.yaml").write_text(yaml.safe_dump(plan))
    status, out, _ = run(*arguments(folder, "late.yaml"))
    assert status == 0
    assert "a: nothing is done in 1 s with 90 %; shown is the likeliest, 0 %." in out
    assert "Within 2 s: 0 of 1 (0 %)." in out
    assert "schedule found" not in out
    assert "In time with" not in out


def test_of_a_campaign_that_is_not_done_the_tables_say_whose_time_and_cost_they_have(
    run: Run, folder: Path
) -> None:
    """Three of four fit, one after another on the only GPU; by 2.5 times its length, two are."""
    step = float(loaded(folder)["native"].forecasts([8000], [1]).seconds[0])
    length = 1_000_000 * step
    plan = {
        "machines": [{"name": "native", "gpus": 1, "price_per_gpu_hour": 2.0}],
        "jobs": [
            {"name": "a", "n": 8000, "steps": 1_000_000, "count": 4, "deadline": 2.5 * length}
        ],
        "window": 3.5 * length,
    }
    (folder / "campaign.yaml").write_text(yaml.safe_dump(plan))
    out = run("plan", folder / "campaign.yaml", folder / "native.json")[1]
    assert "Within " in out
    assert ": 3 of 4 (75 %), P = 100 %." in out
    cost = re.search(r"and costs ([\d.]+) USD, for the 3 that are done\.\n(.*)\n", out)
    assert cost is not None
    assert float(cost[1]) == pytest.approx(3 * length * 2 / 3600, abs=0.006)
    assert cost[2] == "In time with 90 %: 2 of the 3 that are done."
    plan["jobs"][0]["deadline"] = 3.5 * length
    (folder / "campaign.yaml").write_text(yaml.safe_dump(plan))
    out = run("plan", folder / "campaign.yaml", folder / "native.json")[1]
    assert "In time with 90 %: all of the 3 that are done." in out


@pytest.mark.parametrize(
    ("counts", "helps"),
    [
        ([1, 2], "More GPUs do not help it."),
        ([1, 2, 4], "More than 4 for one run might."),
    ],
)
def test_a_job_that_no_count_lets_be_in_time_is_named(
    run: Run, folder: Path, counts: list[int], helps: str
) -> None:
    """64,000 particles are fastest on 4 of 1, 2 and 4 GPUs; the other job has time enough."""
    forecasts = loaded(folder)["native"].forecasts([64000] * len(counts), counts)
    least = 1e6 * float(forecasts.seconds.min())
    box = {"name": "native", "gpus": "1-4", "gpu_counts": counts, "price_per_gpu_hour": 2.0}
    job = {"n": 64000, "steps": 1_000_000}
    plan = {
        "machines": [box],
        "jobs": [
            {"name": "short", **job, "steps": 1000},
            {"name": "long", **job, "deadline": 0.9 * least},
        ],
    }
    content = gc.plan(plan, {"native": loaded(folder)["native"]}).content
    assert content["purchase"]["never_in_time"] == [{"job": "long", "gpus": counts[-1]}]
    (folder / "long.yaml").write_text(yaml.safe_dump(plan))
    first, second, *_ = run("plan", folder / "long.yaml", folder / "native.json")[1].splitlines()
    assert first.startswith("native: not even 4 GPUs are enough for all 2 simulations")
    where = f"long: in time with 90 % on no count; the fastest, native x {counts[-1]}, takes "
    assert second.startswith(where)
    assert second.endswith(helps)


def test_that_no_network_between_hosts_was_measured_is_said_first(run: Run, folder: Path) -> None:
    """4 GPUs were measured; a run on 8 of hosts of 4 takes two."""
    plan = {
        "machines": [
            {"name": "native", "gpus": 8, "gpu_counts": [8], "price_per_gpu_hour": 2.0}
            | {"gpus_per_host": 4}
        ],
        "jobs": [{"name": "a", "n": 64000, "steps": 1000}],
    }
    (folder / "two_hosts.yaml").write_text(yaml.safe_dump(plan))
    warnings = run("plan", folder / "two_hosts.yaml", folder / "native.json")[2]
    assert "native: all measured within one host; 8 GPUs take 2 hosts: the network" in warnings
    plan["machines"][0]["gpus_per_host"] = 8
    (folder / "two_hosts.yaml").write_text(yaml.safe_dump(plan))
    assert "host" not in run("plan", folder / "two_hosts.yaml", folder / "native.json")[2]


def test_efficiency_names_the_count_that_it_is_against(run: Run, folder: Path) -> None:
    assert "E (N_ref = 1)" in run(*arguments(folder))[1]


@pytest.mark.parametrize("price", [{}, {"price_per_gpu_hour": 0.0}], ids=["none", "of 0"])
def test_a_price_that_is_missing_is_asked_for_and_gpu_hours_are_shown(
    run: Run, folder: Path, price: dict[str, float]
) -> None:
    plan = {
        "machines": [
            {"name": "native", "gpus": 2, **price},
            {"name": "remote", "gpus": 2, "price_per_gpu_hour": 2.0},
        ],
        "jobs": [{"name": "a", "n": 8000, "steps": 100_000, "deadline": "9d", "count": 2}],
    }
    (folder / "owned.yaml").write_text(yaml.safe_dump(plan))
    models = (folder / "native.json", folder / "remote.json")
    _, out, _ = run("plan", folder / "owned.yaml", *models)
    (line,) = [line for line in out.splitlines() if "price_per_gpu_hour" in line]
    assert line.startswith("native: without a price")
    assert "cheapest" not in out
    assert "fewest GPU h" in out
    plan["machines"][0]["price_per_gpu_hour"] = 0.5
    (folder / "owned.yaml").write_text(yaml.safe_dump(plan))
    _, out, _ = run("plan", folder / "owned.yaml", *models)
    assert "price_per_gpu_hour" not in out
    assert "fewest GPU h" not in out


def test_machines_with_one_model_are_named_as_alike(run: Run, folder: Path) -> None:
    plan = {
        "machines": [
            {"name": name, "model": model, "gpus": 2, "price_per_gpu_hour": price}
            for name, model, price in (
                *(("own", "native.json", 1.9), ("pool", "native.json", 1.1)),
                ("far", "remote.json", 1.0),
            )
        ],
        "jobs": [{"name": "a", "n": 8000, "steps": 1000}],
    }
    (folder / "alike.yaml").write_text(yaml.safe_dump(plan))
    assert gc.plan(folder / "alike.yaml").content["same_model"] == [["own", "pool"]]
    words = "One model for own, pool: their steps are taken to be the same.\n"
    assert words in run("plan", folder / "alike.yaml")[1]
    assert "One model" not in run(*arguments(folder))[1]


@pytest.mark.parametrize("advised", range(1, 40, 3))
def test_of_a_long_front_what_the_job_should_get_is_shown(
    capsys: pytest.CaptureFixture[str], advised: int
) -> None:
    """40 counts, each faster and more expensive than the one before."""
    front = [
        {
            "machine": "m",
            "gpus": gpus,
            "instances": 1,
            "seconds": 1e6 / gpus,
            "gpu_hours": 1e6 / 3600,
            "checkpoint_hours": 0.0,
            "restart_hours": 0.0,
            "units_per_second": None,
            "cost_per_million": None,
            "cost": gpus,
            "ns_per_day": None,
            "efficiency": 1.0,
            "peak_efficiency": None,
            "probability_in_time": 1.0,
            "extrapolated": False,
        }
        for gpus in range(40, 0, -1)
    ]
    job = {
        "name": "a",
        "unit": None,
        "front": front,
        "meets_deadline": True,
        "advised": front[40 - advised],
    }
    tables._fronts({"jobs": [job], "unpriced": []})
    out = capsys.readouterr().out
    rows = re.findall(r" m x (\d+) ", out)
    assert {"1", "40", str(advised)} <= set(rows)
    assert len(rows) <= tables.MOST_OPTIONS + 1
    assert f"\n{40 - len(rows)} of 40 options left out: --json or -o, key front.\n" in out
    tables._fronts({"jobs": [{**job, "front": front[:12], "advised": front[0]}], "unpriced": []})
    assert "left out" not in capsys.readouterr().out


def test_what_less_time_costs_says_how_sure_a_deadline_is(run: Run, folder: Path) -> None:
    content = gc.plan(folder / "plan.yaml", loaded(folder)).content
    out = run(*arguments(folder))[1]
    front = out[out.index("What less time costs") : out.index("How many copies")]
    head, _, *rows = front.splitlines()[2:]
    assert "P in time" in head
    options = [option_ for planned in content["jobs"] for option_ in planned["front"]]
    shown = [row[: head.index("P in time") + len("P in time")].split()[-2:] for row in rows]
    for option, words in zip(options, shown, strict=False):
        share = option["probability_in_time"]
        assert words[-1] == "-" if share is None else words == [f"{100 * share:.0f}", "%"]
