"""A plan's file that is wrong: one line with file, line and key; exit 2."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

from command_line import Run, assert_refused
from planning_samples import native

GOOD = """\
window: 24h
machines:
  - name: native
    model: native.json
    gpus: 4
    price_per_gpu_hour: 2.5
jobs:
  - name: melt
    n: 8000
    steps: 1e6
    deadline: 2h
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plans")
    native().save(path / "native.json")
    (path / "broken.json").write_text("{")
    return path


def plan(folder: Path, text: str | bytes) -> Path:
    path = folder / "plan.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_the_plan_that_is_spoilt_below_is_good(run: Run, folder: Path) -> None:
    status, out, _ = run("plan", plan(folder, GOOD))
    assert status == 0
    assert "melt" in out


def test_how_many_gpus_to_buy_needs_something_to_be_in_time_for(run: Run, folder: Path) -> None:
    text = GOOD.replace("gpus: 4", "gpus: 1-4").replace("window: 24h\n", "")
    status, out, _ = run("plan", plan(folder, text))
    assert status == 0
    assert out.startswith(
        "native: 1 GPU is enough for the simulation to be in time with 90 %, of 1 to 4.\n"
        "What follows is with 1.\n"
    )
    free = text.replace("    deadline: 2h\n", "")
    assert_refused(run("plan", plan(folder, free)), "4: machines[0].gpus: a range asks how many")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("gpus: 4", "gpus: many", '5: machines[0].gpus: must be a whole number, got "many"'),
        ("gpus: 4", "gpus: 0", "5: machines[0].gpus: must be at least 1, got 0"),
        ("gpus: 4", "gpus: 1.5", "5: machines[0].gpus: must be a whole number, got 1.5"),
        ("gpus: 4", "gpus: yes", '5: machines[0].gpus: must be a whole number, got "yes"'),
        ("gpus: 4", "gpus: 8-4", "5: machines[0].gpus: the first number must not be above the"),
        ("gpus: 4", "gpus: 0-4", "machines[0].gpus_least: must be at least 1, got 0"),
        ("gpus: 4", "gpus: 4..8", '5: machines[0].gpus: must be a whole number, got "4..8"'),
        ("gpus: 4", "gpu: 4", "5: machines[0].gpu: unknown key; did you mean gpus?"),
        ("    gpus: 4\n", "", "3: machines[0].gpus: missing"),
        ("2.5", "-2.5", "6: machines[0].price_per_gpu_hour: must be at least 0, got -2.5"),
        ("2.5", ".nan", "6: machines[0].price_per_gpu_hour: must be a finite number"),
        ("2.5", "cheap", '6: machines[0].price_per_gpu_hour: must be a number, got "cheap"'),
        ("native.json", "none.json", "4: machines[0].model: "),
        ("native.json", "none.json", "none.json: No such file"),
        ("native.json", "broken.json", "broken.json:1: is no model file"),
        ("    model: native.json\n", "", "3: machines[0].model: missing"),
        ("window: 24h", "window: 1 day", "1: window: '1 day' is no time such as"),
        ("window: 24h", "window: 0", "1: window: must be greater than 0"),
        ("window: 24h", "windw: 24h", "1: windw: unknown key; did you mean window?"),
        ("window: 24h", "baseline: nativ", "1: baseline: no machine 'nativ'; did you mean native?"),
        ("window: 24h", "probability: 90", "1: probability: must be less than 1, got 90"),
        ("window: 24h", "sizes: [5, 5]", "1: sizes: the first size must be below the second"),
        ("window: 24h", "sizes: [5]", "1: sizes: must be a list of 2, got [5]"),
        ("n: 8000", "n: 2e18", "9: jobs[0].n: must be at most 1e+18, got 2e+18"),
        ("n: 8000", "n: -8", "9: jobs[0].n: must be greater than 0, got -8"),
        ("    n: 8000\n", "", "8: jobs[0].n: missing"),
        ("    steps: 1e6\n", "", "8: jobs[0].steps: missing; or ns"),
        ("steps: 1e6", "steps: 1e6\n    ns: 1", "10: jobs[0].steps: either steps or ns"),
        ("steps: 1e6", "ns: 1", "8: jobs[0].timestep_fs: missing; ns needs it"),
        ("deadline: 2h", "deadline: soon", "11: jobs[0].deadline: 'soon' is no time such as"),
        ("deadline: 2h", "deadline: -3", "11: jobs[0].deadline: must be greater than 0, got -3"),
        ("deadline: 2h", "ns_per_day: 5", "8: jobs[0].timestep_fs: missing; ns_per_day needs it"),
        (
            "deadline: 2h",
            "deadline: 2h\n    ns_per_day: 5\n    timestep_fs: 2",
            "12: jobs[0].ns_per_day: either deadline or ns_per_day",
        ),
        (
            "deadline: 2h",
            "machines: [native, remot]",
            "11: jobs[0].machines[1]: no machine 'remot'; known are native",
        ),
        (
            "deadline: 2h",
            "n: 9",
            "11: jobs[0].n: occurs a second time; the first is on line 9",
        ),
        (
            "deadline: 2h",
            "count: 2\n  - name: melt\n    n: 5\n    steps: 5",
            "12: jobs[1].name: 'melt' is also the name of jobs[0]",
        ),
        (
            "price_per_gpu_hour: 2.5",
            "price_per_gpu_hour: 2.5\n    gpu_counts: [1, 8]",
            "7: machines[0].gpu_counts[1]: there are only 4 GPUs, not 8",
        ),
        (
            "price_per_gpu_hour: 2.5",
            "price_per_gpu_hour: 2.5\n  - name: native\n    gpus: 1\n    price_per_gpu_hour: 1",
            "7: machines[1].name: 'native' is also the name of machines[0]",
        ),
        ("deadline: 2h", "count: 100000000", "11: jobs[0].count: must be at most 10000"),
        ("- name: melt", "- name: ''", "8: jobs[0].name: must not be empty"),
        ("- name: melt", '- name: "a\\tb"', "8: jobs[0].name: "),
        ("  - name: melt", "  - melt\n  - name: melt", "8: jobs[0]: must be an object"),
        ("deadline: 2h", "deadline: [2h", "12: is no valid YAML"),
        ("deadline: 2h", "? [a]\n    : 5", "11: jobs[0]: a key must be a word"),
        ("deadline: 2h", "&a x: *a", "11: jobs[0].x: unknown key; known are name, n, "),
    ],
)
def test_each_fault_is_named_with_its_line_and_key(
    run: Run, folder: Path, old: str, new: str, said: str
) -> None:
    assert old in GOOD
    path = plan(folder, GOOD.replace(old, new, 1))
    assert_refused(run("plan", path), str(path), said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no plan"),
        ("- a\n- b\n", "holds no plan"),
        ("jobs: []\n", "machines: missing"),
        (GOOD.split("jobs:")[0], "jobs: nothing to plan"),
        ("a: &a [*a]\n", "refers to itself"),
        ("a: " + "[" * 5000 + "]" * 5000, "nested too deeply"),
        (b"a: \xff\n", ":1: is no UTF-8 text"),
        ("a: \x07\n", "is no valid YAML"),
        ("a: b\n---\nc: d\n", "is no valid YAML"),
    ],
)
def test_texts_that_are_no_plan_are_refused(
    run: Run, folder: Path, text: str | bytes, said: str
) -> None:
    assert_refused(run("plan", plan(folder, text)), "plan.yaml", said)


def test_a_tag_names_no_function_that_runs(run: Run, folder: Path) -> None:
    ran = folder / "ran"
    for what in "object/apply:os.system", "object/new:os.system", "name:os.system":
        tagged = f"!!python/{what} ['touch {ran}']"
        for text in (f"{tagged}\n", GOOD.replace("native.json", tagged, 1)):
            assert_refused(run("plan", plan(folder, text)), "plan.yaml")
            assert not ran.exists()


def test_aliases_that_grow_beyond_all_bounds_are_refused(run: Run, folder: Path) -> None:
    text = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
    for i in range(1, 9):
        text += f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n"
    assert_refused(run("plan", plan(folder, text)), "repeats too much")


def test_a_missing_plan_and_a_model_of_no_machine_are_refused(run: Run, folder: Path) -> None:
    assert_refused(run("plan", folder / "none.yaml"), "none.yaml: No such file")
    message = "models: 'broken' is no machine of the plan"
    assert_refused(run("plan", plan(folder, GOOD), folder / "broken.json"), message)


def test_a_model_without_replicates_is_refused(run: Run, folder: Path, tmp_path: Path) -> None:
    bare = copy.copy(native())
    bare.replicates, bare.integers = bare.replicates[:0], []
    bare.save(tmp_path / "native.json")
    path = plan(folder, GOOD)
    assert_refused(
        run("plan", path, tmp_path / "native.json"), "4: machines[0].model: ", "no bootstrap"
    )


def test_an_efficiency_that_no_count_reaches_is_refused(run: Run, folder: Path) -> None:
    text = GOOD.replace("gpus: 4", "gpus: 4\n    gpu_counts: [4]").replace(
        "deadline: 2h", "efficiency: 1.0"
    )
    path = plan(folder, text)
    assert_refused(run("plan", path), "12: jobs[0].efficiency: no GPU count is so efficient")


def test_nothing_is_written_where_the_plan_is_wrong(run: Run, folder: Path, tmp_path: Path) -> None:
    path, out = plan(folder, GOOD.replace("8000", "many")), tmp_path / "answer.json"
    assert_refused(run("plan", path, "-o", out), "9: jobs[0].n")
    assert not out.exists()
    out.write_text("old")
    assert_refused(run("plan", plan(folder, GOOD), "-o", out), "exists already")
    assert out.read_text() == "old"
