"""``gpucast measure --program``: its file and the files beside it, however it ends."""

import os
import re
import shlex
import signal
import sys
from pathlib import Path

import pytest

import gpucast as gc
import mdapp
from command_line import Run, answer_of, executable, only_json, start_measuring
from described_programs import described, grid, made, visits, visits_of_whole
from gpucast.cli.measure import print_described
from gpucast.measure.work import FitReport, Report
from waiting import HANG, until


def test_a_grid_is_measured_once_and_fitted(run: Run, tmp_path: Path) -> None:
    program, path = described(tmp_path), tmp_path / "data.jsonl"
    measure = ("measure", "--program", program, "--json", "-o", path)
    answer = answer_of(run(*measure))
    assert (answer["measured"], answer["skipped"], answer["failed"]) == (6, 0, 0)
    assert visits(path) == grid([1000, 2000, 4000], [1, 2])
    steps = {(step.n, step.gpus): step for step in gc.load(path).steps}
    step = steps[4000, 2]
    assert step.seconds == pytest.approx([1.4e-4, 1.414e-4])
    assert (step.program, step.unit, step.path, step.ranks) == ("toy", "atoms", "host", None)
    assert answer["fits"][0]["program"] == "toy"
    assert answer["fits"][0]["cells"] == 6
    logs = sorted(file.name for file in (tmp_path / "data.logs").iterdir())
    assert len(logs) == 6
    assert all(name.endswith("-1.log") for name in logs)
    before = path.read_bytes()

    answer = answer_of(run(*measure, "--quiet"))
    assert (answer["measured"], answer["skipped"]) == (0, 6)
    new = path.read_bytes().removeprefix(before)
    assert b'"kind":"step"' not in new  # at most a note that the machine is shared


def test_visits_come_in_passes_over_all_cells_each_in_another_order(
    run: Run, tmp_path: Path
) -> None:
    program, path = described(tmp_path), tmp_path / "data.jsonl"
    measure = ("measure", "--program", program)
    assert run(*measure, "--visits", 3, "-o", path)[0] == 0
    steps = mdapp.steps_in(path.read_text())
    assert [s["visit"]["number"] for s in steps] == [1] * 6 + [2] * 6 + [3] * 6
    orders = [[(s["n"], s["gpus"]) for s in steps[i : i + 6]] for i in (0, 6, 12)]
    assert len({tuple(order) for order in orders}) == 3
    assert sorted(orders[0]) not in orders
    # Existing visits and new ones are both visits.
    status, out, _ = run(*measure, "--visits", 4, "-o", path, "--json")
    answer = only_json(out)
    assert (status, answer["measured"], answer["skipped"]) == (0, 6, 18)


def test_the_next_command_fits_what_was_measured(run: Run, tmp_path: Path) -> None:
    program, path = described(tmp_path), tmp_path / "data.jsonl"
    status, out, _ = run("measure", "--program", program, "--quiet", "-o", path)
    assert status == 0
    assert "error of fitted cells: median" in out
    word, command = out.splitlines()[-1].split(" ", 1)
    assert word == "next:"
    assert command == f"gpucast fit {path} --program toy -o MODEL.json"
    model = tmp_path / "model.json"
    words = shlex.split(command.replace("MODEL.json", str(model)))[1:]
    assert run(*words)[0] == 0
    assert model.exists()


def test_a_fit_of_no_use_is_said_to_be_none(capsys: pytest.CaptureFixture[str]) -> None:
    fits = [
        FitReport("host", program=name, model="work", cells=9,
                  median_relative_error=error, p95_relative_error=1.2)
        for name, error in (("good", 0.19), ("poor", 0.4), ("none", None))
    ]  # fmt: skip
    print_described(Report("data.jsonl", fits=fits))
    remarks = [line for line in capsys.readouterr().out.splitlines() if "do not forecast" in line]
    assert len(remarks) == 1
    assert remarks[0].startswith("poor: the model is 40.0 % off at half of the cells")


def test_sizes_have_variables_files_and_an_environment(run: Run, tmp_path: Path) -> None:
    script = tmp_path / "show.py"
    script.write_text(
        "import os, sys\n"
        "print(sys.argv[1:], open('in/box.txt').read(), os.environ['OMP_NUM_THREADS'])\n"
        "print('took 1 ms')\n"
    )
    (tmp_path / "program.yaml").write_text(
        "program: show\n"
        "path: host\n"
        "case: box\n"
        f"command: [{sys.executable}, '{{here}}/show.py', '{{L}}', 0.10, '{{{{n}}}}', '${{L}}']\n"
        "files: [{to: in/box.txt, text: 'box {L} {n} {ranks} ${L}'}]\n"
        "environment: {OMP_NUM_THREADS: '{gpus}'}\n"
        "ranks: '{gpus}'\n"
        "sizes: {4000: {L: 1e1}, 32000: {L: 20}}\n"
        "gpus: [2]\n"
        "result: {regex: 'took (?P<t>.*) ms', unit: ms}\n"
    )
    path = tmp_path / "data.jsonl"
    status, _, err = run("measure", "--program", tmp_path / "program.yaml", "-n", 4e3, "-o", path)
    assert status == 0, err
    (log,) = (tmp_path / "data.logs").iterdir()
    first = log.read_text().splitlines()[0]
    assert first == "['1e1', '0.10', '{n}', '${L}'] box 1e1 4000 2 ${L} 2"
    (step,) = gc.load(path).steps
    assert (step.case, step.ranks, step.seconds) == ("box", 2, [0.001])


def test_a_cell_that_fails_is_a_note_and_does_not_end_the_campaign(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOY_FAILS_AT", "2000 2")
    program, path = described(tmp_path), tmp_path / "data.jsonl"
    measure = ("measure", "--program", program, "--json", "--visits", 2, "-o", path)
    status, out, err = run(*measure)
    assert status == 1
    answer = only_json(out)
    assert (answer["measured"], answer["failed"]) == (10, 1)
    lines = [line for line in err.splitlines() if "n=2000 gpus=2: ran out of memory" in line]
    assert len(lines) == 1
    log = lines[0].partition("(log: ")[2].rstrip(")")
    assert "making a box" in Path(log).read_text()
    (note,) = [note for note in gc.load(path).notes if (note.about or {}).get("n")]
    assert note.about["output"] == ["making a box", "CUDA error: out of memory"]

    monkeypatch.delenv("TOY_FAILS_AT")
    status, out, _ = run(*measure)  # the next start tries it again
    assert (status, only_json(out)["measured"]) == (0, 2)
    assert visits(path) == grid([1000, 2000, 4000], [1, 2], 2)


LOST = "\"echo 'gpucast remote: node:1: no route'; echo 'CUDA error: no devices'; exit 2\""
"""The program ends as if its server could not be reached."""

FAILURES = [
    ("success: done", "success: finished", "its output lacks 'finished' (success)"),
    ("unit: ms, skip: 2", "unit: ms, skip: 9", "only 4 of more than 9 numbers found by regex"),
    ('"{gpus}"]', '"{gpus}x"]', "exit status 1: ValueError"),
    (f"[{sys.executable}, toy.py, ", f"[sh, -c, {LOST}, ", "exit status 2: node:1: no route"),
]


@pytest.mark.parametrize(("old", "new", "said"), FAILURES)
def test_failures_name_their_log(run: Run, tmp_path: Path, old: str, new: str, said: str) -> None:
    program = described(tmp_path, (old, new))
    path = tmp_path / "data.jsonl"
    status, _, err = run("measure", "--program", program, "-n", 1000, "--gpus", 1, "-o", path)
    assert status == 1
    (line,) = [line for line in err.splitlines() if said in line]
    assert Path(line.partition("(log: ")[2].rstrip(")")).exists()


def test_who_means_no_gpus_is_told_to_say_so(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("SLURM_JOB_ID", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)
    native = described(tmp_path, ("path: host\n", ""))
    measure = ("measure", "--program", native, "-n", 1000, "--gpus", 1)
    _, _, err = run(*measure, "-o", tmp_path / "native.jsonl")
    assert "the description needs path: host" in err
    _, _, err = run(*measure, "-o", tmp_path / "host.jsonl", "--program", described(tmp_path))
    assert "path: host" not in err


def test_a_run_beyond_its_time_limit_is_ended_with_its_children(run: Run, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")
    child = (
        "import os, sys; open(sys.argv[1], 'w').write(str(os.getpid())); open(sys.argv[2]).read()"
    )
    (tmp_path / "parent.py").write_text(
        "import subprocess, sys\n"
        f"subprocess.Popen([sys.executable, '-c', {child!r}, *sys.argv[1:]])\n"
        "open(sys.argv[2]).read()\n"
    )
    words = f"{{here}}/parent.py', '{tmp_path}/pid', '{tmp_path}/gate"
    program = described(tmp_path, ('toy.py, "{n}", "{gpus}"', f"'{words}'"), more="time_limit: 2\n")
    path = tmp_path / "data.jsonl"
    status, _, err = run("measure", "--program", program, "-n", 1000, "--gpus", 1, "-o", path)
    assert status == 1
    assert "took longer than 2 s (time_limit)" in err
    if (tmp_path / "pid").exists():  # the child had come to that
        number = (tmp_path / "pid").read_text()
        assert not number or until(lambda: not _is_running(int(number)))


def _is_running(number: int) -> bool:
    try:
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_what_was_run_otherwise_is_measured_anew_and_said(run: Run, tmp_path: Path) -> None:
    program, path = described(tmp_path), tmp_path / "data.jsonl"
    measure = ("measure", "--program", program, "-n", 1000, "--json", "-o", path)
    assert only_json(run(*measure)[1])["measured"] == 2
    with (tmp_path / "toy.py").open("a") as stream:
        stream.write("# another version\n")
    status, out, err = run(*measure)
    assert (status, only_json(out)["measured"]) == (0, 2)
    assert "has 2 visits of these cells by another command or program" in err


def test_a_budget_visits_a_start_design_and_what_tells_most(run: Run, tmp_path: Path) -> None:
    sizes = "[1000, 2000, 4000, 8000, 16000, 32000]"
    program = described(tmp_path, ("[1000, 2000, 4000]", sizes), ("[1, 2]", "[1, 2, 3, 4]"))
    path = tmp_path / "data.jsonl"
    measure = ("measure", "--program", program, "--json", "-o", path)
    # A large budget: only the number of visits ends it.
    assert answer_of(run(*measure, "--budget", "10h", "--visits", 1))["measured"] == 24
    assert set(visits(path).values()) == {1}
    # A tiny budget: only the first visit, whose cost is unknown.
    other = tmp_path / "other.jsonl"
    answer = answer_of(run(*measure[:-1], other, "--gpu-hours", "1e-9"))
    assert (answer["measured"], answer["paths"][0]["status"]) == (1, "budget")
    assert visits(other) == {(1000, 1, 1): 1}
    assert answer["paths"][0]["gpu_hours"] > 1e-9
    assert answer["paths"][0]["device"] == "core"
    # On path host, GPUs are not mentioned.
    status, out, err = run(*measure[:3], "--gpu-hours", 1e-9, "--visits", 3, "-o", other)
    assert status == 0
    assert "core hours" in out
    assert "GPU" not in out + err


def test_a_dry_run_shows_commands_in_order_and_what_they_would_cost(
    run: Run, tmp_path: Path
) -> None:
    program, path = described(tmp_path), tmp_path / "data.jsonl"
    measure = ("measure", "--program", program, "-o", path)
    status, out, _ = run(*measure, "--dry-run")
    assert status == 0
    assert out.splitlines()[-1] == "6 visits to make, 0 made; time not known before a first visit"
    assert not path.exists()
    order = [tuple(line.split()[:2]) for line in out.splitlines()[:-1]]
    assert run(*measure)[0] == 0
    steps = mdapp.steps_in(path.read_text())
    assert order == [(f"n={s['n']}", f"gpus={s['gpus']}") for s in steps]

    status, out, _ = run(*measure, "--visits", 2, "--dry-run")
    assert "GPU" not in out
    assert re.search(r"; about [^,]*, [0-9.e-]+ core hours$", out.splitlines()[-1])
    plan = answer_of(run(*measure, "--visits", 2, "--dry-run", "--json"))
    assert (len(plan["visits"]), plan["made"]) == (6, 6)
    known = {(s["n"], s["gpus"]): s["visit"]["seconds"] for s in steps}
    assert plan["seconds"] == pytest.approx(sum(known.values()))
    hours = sum(seconds * gpus for (_, gpus), seconds in known.items()) / 3600
    assert plan["gpu_hours"] == pytest.approx(hours)


def test_a_dry_run_with_a_budget_says_that_a_part_is_made_and_what_is_first(
    run: Run, tmp_path: Path
) -> None:
    program = described(tmp_path, ("[1000, 2000, 4000]", "[1000, 2000, 4000, 8000]"))
    path = tmp_path / "data.jsonl"
    measure = ("measure", "--program", program, "--gpu-hours", 1e-4, "-o", path)
    status, out, _ = run(*measure, "--dry-run")
    assert status == 0
    *listed, total, which = out.splitlines()
    assert total.startswith("48 visits to make, 0 made")
    assert len(listed) == 48
    assert which == (
        "Only some of these are made: first n=1000 gpus=1, then others, chosen as it "
        "goes, until the budget is spent."
    )
    # Whatever the budget, a first visit shows the cost of the others.
    assert run(*measure[:3], "--gpu-hours", 1e-9, "-o", path)[0] == 0
    assert visits(path) == {(1000, 1, 1): 1}
    plan = only_json(run(*measure, "--dry-run", "--json", "--until", "best")[1])
    assert plan["made"] == 1
    (first,) = (plan["visits"][i] for i in plan["first"])
    # Four times the work of the least that is left, by which start and steps are told apart.
    assert (first["n"], first["gpus"], first["number"]) == (4000, 2, 1)
    assert run(*measure, "--visits", 1)[0] == 0
    made = [(s["n"], s["gpus"]) for s in mdapp.steps_in(path.read_text())]
    assert made[:2] == [(1000, 1), (4000, 2)]

    new = tmp_path / "new.jsonl"
    _, out, _ = run(*measure[:3], "--until", "best n=1e6", "--dry-run", "-o", new)
    assert out.splitlines()[-1].endswith("until 'best n=1e6' is sure.")
    _, out, _ = run(*measure[:3], "--gpu-hours", 1e-9, "--dry-run", "-o", path)
    assert out.splitlines()[-1].startswith("None of these is made: ")


def test_gpus_are_bound_free_ones_first_and_within_what_slurm_gave(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gpucast.measure.described.here import bound, gpus_here, step_of_allocation

    smi = executable(
        tmp_path / "bin" / "nvidia-smi",
        "#!/bin/sh\ncase $1 in\n"
        "  --query-gpu=index,uuid) printf '0, GPU-a\\n1, GPU-b\\n2, GPU-c\\n' ;;\n"
        "  --query-compute-apps=gpu_uuid) echo GPU-a ;;\nesac\n",
    )
    monkeypatch.setenv("PATH", f"{smi.parent}:{os.environ['PATH']}")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    assert gpus_here("native", {}) == ["1", "2", "0"]
    assert bound(["1", "2", "0"], 2)["CUDA_VISIBLE_DEVICES"] == "1,2"
    assert gpus_here("host", {}) is None
    assert gpus_here("native", {"CUDA_VISIBLE_DEVICES": "1"}) is None
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,GPU-c")
    assert gpus_here("native", {}) == ["2", "0"]
    monkeypatch.setenv("SLURM_JOB_ID", "7")  # the allocation by Slurm is used
    assert gpus_here("native", {}) == ["0", "GPU-c"]
    assert gpus_here("native", {}, ["srun", "-n1"]) is None
    assert step_of_allocation("native", ["srun", "-n1"], 2, 1) == {
        "SLURM_GPUS": "2", "SLURM_GPUS_PER_NODE": "2",
    }  # fmt: skip
    assert step_of_allocation("native", ["srun", "--gpus-per-task=1"], 2, 1) == {}
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    assert gpus_here("native", {}) is None
    assert bound(None, 2) == {}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_interrupted_it_ends_the_program_that_runs(tmp_path: Path, number: signal.Signals) -> None:
    program, path = described(tmp_path), tmp_path / "data.jsonl"
    os.mkfifo(f"{path}.gate")
    process = start_measuring(
        "--program", program, "--quiet", "-o", path, TOY_DATA=str(path), TOY_HOLD_AT="2"
    )
    holding = Path(f"{path}.holding")
    assert until(holding.exists, process)
    running = int(holding.read_text())
    process.send_signal(number)
    out, err = process.communicate(timeout=HANG)
    if number == signal.SIGKILL:
        assert process.returncode == -signal.SIGKILL
    else:
        assert process.returncode == 128 + number
        words = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
        assert err.splitlines()[-1] == f"gpucast: {words[number]}"
        assert not list((tmp_path / "data.logs").glob("*.run"))
    assert out == ""
    assert until(lambda: not _is_running(running))
    assert len(visits(path)) == 2


def test_a_program_that_was_compiled_anew_is_another(run: Run, tmp_path: Path) -> None:
    text = f"#!{sys.executable}\nprint('took 1 ms')\n"
    script = executable(tmp_path / "bin" / "toy", text)
    (tmp_path / "program.yaml").write_text(
        "program: toy\npath: host\ncommand: [toy, '{n}']\nsizes: [1000]\ngpus: [1]\n"
        f"environment: {{PATH: '{script.parent}'}}\n"
        "result: {regex: 'took (?P<t>.*) ms', unit: ms}\n"
    )
    measure = ("measure", "--program", tmp_path / "program.yaml", "-o", tmp_path / "d.jsonl")

    def measured() -> int:
        return answer_of(run(*measure, "--json", "--quiet"))["measured"]

    assert measured() == 1
    script.unlink()
    executable(script, text)  # the same again, at another time
    assert measured() == 0
    executable(script, text + "# compiled anew\n")
    assert measured() == 1


def test_a_script_that_a_command_names_is_part_of_what_is_run(run: Run, tmp_path: Path) -> None:
    from gpucast.measure.described import reading

    (tmp_path / "bench.py").write_text("print(1)\n")
    program = described(tmp_path, ('toy.py, "{n}"', "'{here}/bench.py', \"{n}\""))

    def digest() -> str:
        (only,) = reading.runs_of(reading.read(program), [1000], [1])
        return only.digest

    first = digest()
    assert digest() == first
    (tmp_path / "bench.py").write_text("print(2)\n")
    assert digest() != first


# --- campaigns that are interrupted several times ---

TEN_SIZES = [1000 * 2**power for power in range(10)]
FOUR_COUNTS = [1, 2, 3, 4]
TWO_SIZES = TEN_SIZES[:2]


def interrupted(folder: Path, number: signal.Signals, sizes: list[int], times: int) -> None:
    """Stopped in its second run, or after its first, in turns; then measured to its end."""
    program = described(
        folder, ("[1000, 2000, 4000]", str(sizes)), ("gpus: [1, 2]", f"gpus: {FOUR_COUNTS}")
    )
    path = folder / "data.jsonl"
    gate, holding = Path(f"{path}.gate"), Path(f"{path}.holding")
    os.mkfifo(gate)
    measure = ("--program", program, "--quiet", "-o", path)
    for time in range(times):
        held, before = time % 2 == 1, made(path)
        where = {"TOY_DATA": str(path), "TOY_HOLD_AT": str(before + 2)} if held else {}
        process = start_measuring(*measure, **where)

        def reached(held: bool = held, before: int = before) -> bool:
            return holding.exists() if held else made(path) > before

        until(reached, process)
        process.send_signal(number)
        process.communicate(timeout=HANG)
        # 0 and the signal itself: the campaign had come to its end, or was leaving.
        assert process.returncode in (128 + number, -number, 0)
        holding.unlink(missing_ok=True)
        if path.exists():
            assert set(visits_of_whole(path).values()) <= {1}
    process = start_measuring(*measure)
    _, err = process.communicate(timeout=HANG)
    assert process.returncode == 0, err
    assert visits(path) == grid(sizes, FOUR_COUNTS)
    assert not list((folder / "data.logs").glob("*.run"))


def test_eight_cells_killed_twice(tmp_path: Path) -> None:
    interrupted(tmp_path, signal.SIGKILL, TWO_SIZES, times=2)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_forty_cells_interrupted_at_ten_moments(tmp_path: Path, number: signal.Signals) -> None:
    interrupted(tmp_path, number, TEN_SIZES, times=10)
