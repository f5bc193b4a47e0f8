"""``gpucast measure`` on CPU devices: its file, however it ends."""

import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import gpucast as gc
import mdapp
from command_line import Run, answer_of, assert_refused, executable, only_json, start_measuring
from gpucast import installed
from gpucast.data import dataset as datasets
from gpucast.data import jsonl
from gpucast.errors import InputError
from gpucast.measure import programs
from gpucast.measure.campaign import usual_launcher
from made_data import transfer
from waiting import HANG, size, until

GRID = ("--paths", "host", "--n", "64,216", "--gpus", "1,2", "--schedules",
        "star-serial,star-async")  # fmt: skip
SHORT = (*GRID, "--kernels", "tuned", "--no-transfers")
"""Eight cells, of some 0.3 s each on a machine of two cores."""

needs_two_cores = pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one core")
pytestmark = needs_two_cores


def cells(path: Path) -> Counter[tuple[Any, ...]]:
    """How often each cell is in a file, which must be whole."""
    records = mdapp.records_in(path.read_text())
    assert all(record["schema"] == "gpucast.record/1" for record in records)
    return Counter(
        (r["machine"], r["path"], r["schedule"], r["kernel"], r["memory"], r["n"], r["gpus"])
        for r in records
        if r["kind"] == "step"
    )


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=HANG)
    return process.returncode, out, err.lstrip("\n")


def after_a_first_cell(path: Path, *arguments: object) -> subprocess.Popen[str]:
    """``gpucast measure``, which has one cell in the file and waits for its stderr to be read."""
    process = start_measuring(*arguments, held=True)
    assert until(lambda: path.exists() and '"kind":"step"' in path.read_text(), process)
    return process


def test_a_grid_is_measured_once(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    status, out, err = run("measure", *SHORT, "--json", "-o", path)
    assert status == 0, err
    answer = only_json(out)
    assert (answer["measured"], answer["skipped"], answer["failed"]) == (8, 0, 0)
    assert [p["status"] for p in answer["paths"]] == ["complete"]
    assert "host [8/8] n=216 gpus=1 star-" in err
    visits = cells(path)
    assert set(visits.values()) == {1}
    assert len(visits) == 8
    before = path.read_bytes()

    status, out, err = run("measure", *SHORT, "--json", "--quiet", "-o", path)
    assert (status, err) == (0, "")
    answer = only_json(out)
    assert (answer["measured"], answer["skipped"]) == (0, 8)
    assert path.read_bytes() == before
    (machine,) = gc.load(path).machines
    assert machine == answer["paths"][0]["machine"]
    fits = {(fit["schedule"], fit["cells"]) for fit in answer["fits"]}
    assert fits == {("star-serial", 4), ("star-async", 4)}


def grown(path: Path, more: int, process: subprocess.Popen[str]) -> None:
    """Wait until a file has grown by this number of bytes, or nobody is left to write to it."""
    enough = size(path) + more
    until(lambda: size(path) >= enough, process)


def test_killed_at_any_moment_nothing_is_lost_or_doubled(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    chance = random.Random(1)
    for _ in range(4):
        process = start_measuring(*SHORT, "-o", path)
        grown(path, chance.randrange(1, 8000), process)  # a cell has some thousand bytes
        process.kill()
        process.communicate()
        # As a power failure may leave the file.
        if path.exists() and chance.random() < 0.5:
            with path.open("a") as stream:
                stream.write('{"schema":"gpucast.record/1","kind":"step","mach')
    status, _, err = ended(start_measuring(*SHORT, "-o", path))
    assert status == 0, err
    visits = cells(path)
    assert set(visits.values()) == {1}
    assert len(visits) == 8
    assert len({key[0] for key in visits}) == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_it_ends_its_program_and_keeps_what_is_there(
    tmp_path: Path, number: signal.Signals
) -> None:
    path = tmp_path / "data.jsonl"
    process = after_a_first_cell(path, *SHORT, "--json", "-o", path)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert children
    process.send_signal(number)
    status, out, err = ended(process)
    assert status == 128 + number, err
    assert out == ""
    words = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
    assert err.splitlines()[-1] == f"gpucast: {words[number]}"
    assert not any(Path(f"/proc/{child}").exists() for child in children)
    assert set(cells(path).values()) == {1}


def test_a_broken_off_suite_of_transfers_is_completed_not_doubled(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "data.jsonl"
    budget = (*GRID, "--kernels", "tuned", "--budget", "6s", "--quiet", "-o", path)
    suite = [
        transfer(route, 4**power, [1e-6] * 6, memory="pageable", method=method)
        for route in ("h2d", "d2h")
        for method in ("call", "gated")
        for power in range(10)
    ]
    with_a_suite_of(suite, tmp_path, monkeypatch)

    def measured() -> Counter[tuple[Any, ...]]:
        return Counter(datasets.cell(r) for r in gc.load(path).records if r.kind == "transfer")

    assert run("measure", *budget)[0] == 0
    once = measured()
    lines = path.read_text().splitlines(keepends=True)
    of_the_suite = [i for i, line in enumerate(lines) if '"kind":"transfer"' in line]
    assert len(of_the_suite) == len(suite)
    path.write_text("".join(lines[: of_the_suite[15]]))
    assert run("measure", *budget)[0] == 0
    assert measured() == once
    assert answer_of(run("measure", *budget, "--json"))["transfers"] == 0


def with_a_suite_of(
    records: list[dict[str, Any]], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Replace the program that measures transfers by one that "measures" these."""
    (folder / "suite").write_text(
        "".join(
            jsonl.to_line(jsonl.record({**record, "machine": "MACHINE", "path": "host"})) + "\n"
            for record in records
        )
    )
    script = executable(
        folder / programs.MICROBENCH,
        f"""#!/bin/sh
        [ "$1" = measure ] || exec {programs.find(programs.MICROBENCH)} "$@"
        machine=$(echo "$@" | sed 's/.*--machine \\([^ ]*\\).*/\\1/')
        exec sed "s|MACHINE|$machine|" {folder}/suite
        """,
    )
    find = programs.find
    monkeypatch.setattr(
        programs, "find", lambda name: str(script) if name == script.name else find(name)
    )


VISITED = ("--paths", "host", "--n", "64,216", "--gpus", "1", "--schedules",
           "star-serial,star-async", "--kernels", "tuned", "--no-transfers", "--quiet", "--json",
           "--max-time", "0.05s")  # fmt: skip
"""Four cells, of some 0.1 s each."""


def visited(path: Path) -> list[tuple[str, int]]:
    """Schedule and n of each record, in the order written."""
    return [(step["schedule"], step["n"]) for step in mdapp.steps_in(path.read_text())]


def test_visits_are_passes_over_all_cells(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    assert answer_of(run("measure", *VISITED, "--visits", "3", "-o", path))["measured"] == 12
    order = visited(path)
    assert set(Counter(order).values()) == {3}
    for visit in range(3):
        assert len(set(order[4 * visit : 4 * visit + 4])) == 4

    status, out, _ = run("measure", *VISITED, "--visits", "3", "-o", path)
    assert (status, only_json(out)["measured"], only_json(out)["skipped"]) == (0, 0, 12)


def test_interrupted_in_the_middle_of_a_pass_it_ends_that_pass_first(
    run: Run, tmp_path: Path
) -> None:
    path = tmp_path / "data.jsonl"
    assert run("measure", *VISITED, "--visits", "2", "-o", path)[0] == 0
    lines = path.read_text().splitlines(keepends=True)
    kept = [i for i, line in enumerate(lines) if '"kind":"step"' in line][:6]
    path.write_text("".join(lines[: kept[-1] + 1]))  # two of the second pass
    there = visited(path)
    answer = answer_of(run("measure", *VISITED, "--visits", "3", "-o", path))
    assert (answer["measured"], answer["skipped"]) == (6, 6)  # visits, both
    order = visited(path)
    assert order[:6] == there
    assert set(order[4:8]) == set(order[8:]) == set(order[:4])


def test_a_busy_machine_is_said_where_cpus_are_the_devices(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpucast.measure.own.sharing", lambda: "shared machine: 3 others")
    path = tmp_path / "data.jsonl"
    one = ("measure", *SHORT, "--n", "64", "--gpus", "1", "--json", "--quiet", "-o", path)
    status, out, err = run(*one)
    assert (status, err) == (0, "gpucast: note: shared machine: 3 others\n")
    assert only_json(out)["notes"] == ["shared machine: 3 others"]
    assert [note.text for note in gc.load(path).notes] == ["shared machine: 3 others"]
    # Nothing is left to measure, so that others do not matter.
    assert run(*one)[::2] == (0, "")


def test_the_program_is_told_a_cells_time(run: Run, tmp_path: Path) -> None:
    """What it makes of it is tested where no clock runs: records/tests/stopping_test.cpp."""
    path = tmp_path / "data.jsonl"
    one = ("--paths", "host", "--n", "64", "--gpus", "1", "--schedules", "star-async",
           "--kernels", "claret", "--no-transfers", "--quiet")  # fmt: skip
    status, _, err = run("measure", *one, "--max-time", "0.1s", "-o", path)
    assert status == 0, err
    commands = [r["command"] for r in mdapp.records_in(path.read_text()) if "command" in r]
    timed = [command for command in commands if "--max-time" in command]
    assert timed
    assert all(c[c.index("--max-time") + 1] == "0.1" for c in timed)


def test_a_budget_that_is_used_up_ends_a_path(run: Run, tmp_path: Path) -> None:
    """Which cells a budget is spent on is tested without a clock: test_measure_rounds.py."""
    status, out, err = run(
        "measure", "--paths", "host", "--n", "64,1000000", "--gpus", "1", "--budget", "2s",
        "--no-transfers", "--json", "--quiet", "-o", tmp_path / "data.jsonl",
    )  # fmt: skip
    assert status == 0, err
    (path,) = only_json(out)["paths"]
    assert path["status"] == "budget"
    # A step of a million particles is known to take longer than the whole budget.
    assert not [step for step in gc.load(tmp_path / "data.jsonl").steps if step.n != 64]


def test_a_path_that_is_not_there_ends_with_a_note_and_the_others_go_on(
    run: Run, tmp_path: Path
) -> None:
    forces = ["forces", "--n", "8", "--engine", "cuda", "--precision", "float"]
    words = [programs.find("gpucast-mdapp"), *forces]
    if subprocess.run(words, capture_output=True, check=False).returncode == 0:
        pytest.skip("there is a GPU")
    path = tmp_path / "data.jsonl"
    status, out, err = run(
        "measure", *SHORT, "--paths", "native,host", "--n", "64", "--json", "-o", path
    )
    assert status == 1
    answer = only_json(out)
    assert [(p["path"], p["status"]) for p in answer["paths"]] == [
        ("native", "ended"),
        ("host", "complete"),
    ]
    (note,) = (
        entry for entry in gc.load(path).notes if not entry.text.startswith("shared machine")
    )
    assert note.text == answer["notes"][0]
    assert note.text.startswith("path native ended: --engine cuda: ")
    assert "gpucast: path native ended: " in err


def test_without_the_programs_nothing_is_written(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python3"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(installed, "prefixes", lambda: [tmp_path])
    path = tmp_path / "data.jsonl"
    status, out, err = run("measure", *SHORT, "-o", path)
    assert (status, out) == (1, "")
    (line,) = err.splitlines()
    assert line.startswith("gpucast: error: gpucast-microbench: found neither")
    assert not path.exists()


def test_a_full_disk_ends_it_in_one_line(run: Run) -> None:
    status, out, err = run("measure", *SHORT, "--quiet", "-o", "/dev/full")
    assert (status, out) == (1, "")
    assert err == "gpucast: error: /dev/full: No space left on device\n"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--paths", "hots"), "paths: 'hots' is none of host, host:DEVICES, native, LABEL"),
        (("--paths", "host:0"), "paths: host:0: devices must be from 1 to 1024"),
        (("--paths", "host:many"), "paths: host:many: devices must be from 1 to 1024"),
        (("--paths", "host,host"), "paths: 'host' is there twice"),
        (("--paths", "native=a:1"), "paths: 'native' has no servers"),
        (("--paths", "far=a:1++b:2"), "paths: 'far=a:1++b:2' is none of"),
        (("--budget", "5 min"), "budget: '5 min' is no time such as 90s, 5m, 1h"),
        (("--budget", "-1s"), "budget: '-1s' is no time"),
        (("--kernels", "fast"), "kernels: 'fast' is none of claret, tuned"),
        (("--schedules", "star"), "schedules: 'star' is none of star-serial"),
        (("--memory", "mapped"), "memory: 'mapped' is none of pageable, pinned"),
        (("--launcher", "mpirun"), "launcher: 'mpirun' lacks {ranks}"),
        (("--n", "0"), "n: '0' is no number greater than 0"),
        (("--max-time", "0.1 sec"), "max-time: '0.1 sec' is no time such as 90s, 5m, 1h"),
        (("--max-time", "-1s"), "max-time: '-1s' is no time"),
        (("--visits", "0"), "visits"),
        (("--visits", "many"), "visits"),
    ],
)
def test_wrong_options_are_named(
    run: Run, tmp_path: Path, options: tuple[str, str], said: str
) -> None:
    path = tmp_path / "data.jsonl"
    assert_refused(run("measure", *options, "-o", path), said)
    assert not path.exists()


def test_processes_of_mpi_are_started_by_a_launcher(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = mdapp.mpirun(2)[0]
    for name, value in mdapp.MPI_ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    path = tmp_path / "data.jsonl"
    status, _, err = run(
        "measure", "--paths", "host", "--n", "97", "--gpus", "1,2", "--schedules", "mpi",
        "--kernels", "tuned", "--no-transfers", "--max-time", "0.05s", "--launcher",
        f"{before} --oversubscribe -np {{ranks}}", "--quiet", "-o", path,
    )  # fmt: skip
    assert status == 0, err
    assert sorted(key[2:] for key in cells(path)) == [
        ("mpi", "tuned", "pinned", 97, gpus) for gpus in (1, 2)
    ]


def test_in_an_allocation_of_several_nodes_srun_starts_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("srun", "mpirun"):
        executable(tmp_path / name, "#!/bin/sh\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("SLURM_JOB_NUM_NODES", "1")
    assert usual_launcher() == "mpirun -np {ranks}"
    monkeypatch.setenv("SLURM_JOB_NUM_NODES", "2")
    assert usual_launcher() == "srun --ntasks={ranks} --input=0"
    monkeypatch.setenv("PATH", "")
    with pytest.raises(InputError, match="neither srun nor mpirun"):
        usual_launcher()


def test_the_example_job_script_is_a_shell_script() -> None:
    script = Path(__file__).parents[2] / "docs" / "examples" / "measure.sbatch"
    subprocess.run(["bash", "-n", script], check=True)


# ---- gpucast-mdapp measure --cells ----

OF_CELLS = ("measure", "--engine", "host", "--host-devices", 2, "--warm-up", 0, "--steps", 3)


def test_cells_are_measured_as_they_arrive() -> None:
    process = subprocess.Popen(
        [str(mdapp.program()), *map(str, OF_CELLS), "--cells", "-", "--quiet"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert json.loads(process.stdout.readline())["kind"] == "machine"
    for n, gpus in ((64, 2), (8, 1)):
        process.stdin.write(f"{n} {gpus} star-async tuned pinned\n")
        process.stdin.flush()
        step = json.loads(process.stdout.readline())
        assert (step["kind"], step["n"], step["gpus"]) == ("step", n, gpus)
    # More devices than there are: a note in the cell's place, and it goes on.
    process.stdin.write("8 3 star-async tuned pinned\n8 2 star-serial claret pageable\n")
    process.stdin.close()
    note, step = (json.loads(line) for line in process.stdout)
    assert note["kind"] == "note"
    assert note["about"]["gpus"] == 3
    assert "3 wanted, 2 cores present" in note["text"]
    assert (step["schedule"], step["memory"]) == ("star-serial", "pageable")
    assert process.wait(timeout=HANG) == 1


def test_a_bad_line_of_cells_is_named(tmp_path: Path) -> None:
    path = tmp_path / "cells"
    path.write_text("8 1 star-serial claret slow\n")
    finished = mdapp.run(*OF_CELLS, "--cells", path)
    assert finished.status == 2
    assert finished.err == (
        f'gpucast-mdapp: error: {path}:1: memory: "slow" is none of pageable, pinned\n'
    )


@pytest.mark.parametrize("option", [("--n", 8), ("--gpus", 1), ("--memory", "pinned")])
def test_cells_stand_in_place_of_a_grid(option: tuple[str, object]) -> None:
    assert option[0] in mdapp.refused("measure", "--engine", "host", "--cells", "-", *option)


def test_without_cells_a_grid_needs_its_sizes() -> None:
    assert mdapp.refused("measure", "--engine", "host") == "--n is required"
