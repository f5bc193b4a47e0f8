"""The commands ``gpucast data`` and ``gpucast import``, as a user meets them."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import gpucast
from command_line import Run, python, shell
from gpucast.cli import app, data_shown, main
from gpucast.data.loading import load
from gpucast.util import tables, units
from made_data import dataset, machine, step

RECONSTRUCTED = ["reconstructed-2015-native", "reconstructed-2015-remote"]


@pytest.fixture
def steps(tmp_path: Path) -> Path:
    file = tmp_path / "steps.csv"
    file.write_text("n,gpus,seconds\n1000,1,0.5\n1000,1,0.6\n1000,2,0.3\n")
    return file


def test_list_names_datasets_and_models(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    few = {name: gpucast.bundled_files()[name] for name in ("dscuda", "p2p-copy")}
    monkeypatch.setattr("gpucast.cli.data.bundled_files", lambda: few)
    status, out, err = run("data", "list")
    assert (status, err) == (0, "")
    datasets, _, models = out.partition("reconstructed models: ")
    assert all(name in datasets for name in few)
    assert "ours, not measured, not the paper's" in models
    for name in RECONSTRUCTED:
        assert name in models
        assert name not in datasets
    assert "\x1b" not in out


def test_list_answers_as_one_json_object(run: Run) -> None:
    _, out, _ = run("data", "list", "--json")
    answer = json.loads(out)
    assert [row["name"] for row in answer["reconstructions"]] == RECONSTRUCTED
    assert all("ours" in row["label"] for row in answer["reconstructions"])
    datasets = {row["name"]: row for row in answer["datasets"]}
    assert set(datasets) == set(gpucast.bundled_files())
    assert datasets["dscuda"]["paths"] == ["infiniband", "ethernet100", "local"]
    assert datasets["dscuda"]["n"] == [64, 5832]
    assert datasets["p2p-copy"]["counts"]["transfer"] == {"records": 124, "samples": 124}


def test_show_tells_source_and_caveats(run: Run) -> None:
    status, out, _ = run("data", "show", "host-memory-gtx480")
    assert status == 0
    assert "source:  " in out
    assert "caveat:  The source labels its figures nsec" in out
    assert "--series: a row a series; --all: every record" in out


def test_show_prints_every_record_if_asked(run: Run) -> None:
    _, whole, _ = run("data", "show", "p2p-copy", "--all")
    assert whole.count("gpu0>gpu1") == 124


@pytest.mark.parametrize("name", ["h200-x4", "h200-shm", "h200-traces", "dscuda", "gromacs-lumi"])
def test_show_fits_a_screen(run: Run, name: str) -> None:
    _, out, _ = run("data", "show", name)
    rows = [line for line in out.splitlines() if " us" in line or " ms" in line or " ns" in line]
    assert len(rows) <= data_shown.SCREEN
    # Rows, headers of at most seven kinds, and the facts about up to three kinds of machine.
    assert out.count("\n") <= data_shown.SCREEN + 35


def test_show_sums_up_what_a_screen_cannot_hold(run: Run) -> None:
    data = load("h200-x4")
    _, out, _ = run("data", "show", "h200-x4")
    assert "\nstep: 3520 records in 20 series\nall: graph no-graph, boundary open\n" in out
    assert out.count("star-serial  claret") == 6  # three paths with two kinds of memory
    brief = {tuple(line.split()[:2]): line for line in out.partition("in short:")[2].splitlines()}
    native = [copy for copy in data.transfers if copy.path == "native"]
    row = brief["transfer", "native"]
    assert "h2d, d2h, peer, staged, local" in row
    assert f"  {len(native)}  " in row
    assert f"  {sum(len(copy.seconds) for copy in native)}  " in row
    assert "1 B - 1 GiB" in row


def test_show_prints_a_row_a_series_if_asked(run: Run) -> None:
    _, out, _ = run("data", "show", "h200-x4", "--series")
    copies = {
        (copy.path, copy.route, copy.memory, copy.engine, copy.from_, copy.to, copy.method,
         tuple(other.from_ + other.to for other in copy.concurrent))
        for copy in load("h200-x4").transfers
    }  # fmt: skip
    table = out.partition("\ntransfer: ")[2].partition("\n\n")[0]
    assert len(table.splitlines()) == 3 + len(copies)


def test_show_as_json_holds_the_records(run: Run) -> None:
    _, out, _ = run("data", "show", "dscuda", "--json")
    answer = json.loads(out)
    assert answer["digest"] == load("dscuda").digest
    assert {record["kind"] for record in answer["records"]} == {"step", "transfer", "note"}


def test_an_unknown_name_is_one_line_and_status_2(run: Run) -> None:
    status, out, err = run("data", "show", "dscuba")
    assert (status, out) == (2, "")
    assert err == ("gpucast: error: dscuba: no such file or bundled dataset; near: dscuda\n")


def test_import_makes_records_that_load(run: Run, steps: Path, tmp_path: Path) -> None:
    transfers = tmp_path / "transfers.csv"
    transfers.write_text("bytes;seconds;route\n8;1e-6;h2d\n")
    target = tmp_path / "data.jsonl"
    status, _, err = run(
        "import", steps, transfers, "--cores", "2304", "--sms", "12", "--block", "128",
        "--path", "remote", "--gpu-name", "GTX 780", "--machine", "日本", "-o", target,
    )  # fmt: skip
    assert (status, err) == (0, "")
    data = load(target)
    (gpu,) = data.machines["日本"].gpus or []
    assert (gpu.name, gpu.cores, gpu.sms) == ("GTX 780", 2304, 12)
    assert [(step.gpus, step.block, step.seconds) for step in data.steps] == [
        (1, 128, [0.5, 0.6]),
        (2, 128, [0.3]),
    ]
    assert data.paths() == ["remote"]
    assert "steps.csv (sha256" in str(data.machines["日本"].source)


def test_import_does_not_replace_unasked(run: Run, steps: Path, tmp_path: Path) -> None:
    target = tmp_path / "data.jsonl"
    target.write_text("old")
    status, _, err = run("import", steps, "-o", target)
    assert (status, err) == (2, f"gpucast: error: {target}: exists already; --force replaces it\n")
    assert target.read_text() == "old"
    assert run("import", steps, "-o", target, "--force")[0] == 0


def test_a_file_name_that_is_no_unicode_is_cited_escaped(run: Run, tmp_path: Path) -> None:
    file = tmp_path / os.fsdecode(b"st\xffeps.csv")
    file.write_text("n,gpus,seconds\n1000,1,0.5\n")
    assert run("import", file, "-o", tmp_path / "data.jsonl")[0] == 0
    (machine,) = load(tmp_path / "data.jsonl").machines.values()
    assert "st\\xffeps.csv" in str(machine.source)


@pytest.mark.parametrize(
    "arguments",
    [
        ("data",),
        ("dta", "list"),
        ("data", "lst"),
        ("data", "show"),
        ("data", "list", "--jsn"),
        ("data", "export", "dscuda"),
        ("data", "export", "dscuda", "--format", "workbook"),
        ("data", "export", "dscuda", "--format", "parquet"),
        ("data", "export", "dscuda", "--format"),
        ("data", "export", "dscuda", "--format", "csv", "--path", "nat"),
        ("data", "export", "p2p-copy", "--format", "csv-transfers"),
        ("data", "export", "dscuda", "--format", "csv", "-o", "/no/such/folder/x.csv"),
        ("import", "steps.csv"),
        ("import", "/no/such/file.csv", "-o", "/tmp/never.jsonl"),
        ("import", "x.csv", "-o", "/tmp/never.jsonl", "--cores", "0"),
        ("import", "x.csv", "-o", "/tmp/never.jsonl", "--cores", "many"),
    ],
    ids=" ".join,
)
def test_wrong_usage_is_one_line_and_status_2(run: Run, arguments: tuple[str, ...]) -> None:
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert err.startswith("gpucast: error: ")
    assert err.count("\n") == 1


def test_export_prints_where_no_file_is_named(run: Run) -> None:
    _, out, _ = run(
        "data", "export", "p2p-copy", "--format", "csv-transfers", "--machine", "geforce-gtx580"
    )
    assert out.splitlines()[0] == "path,memory,route,bytes,seconds"
    assert len(out.splitlines()) == 1 + 62


def test_export_warns_of_transfers_that_csv_cannot_say(run: Run, tmp_path: Path) -> None:
    status, _, err = run(
        "data", "export", "pcie-contention-cirrascale", "--format", "csv-transfers"
    )
    assert status == 2
    assert "cannot express" in err


def test_an_error_is_one_line_whatever_the_file_is_called(run: Run, tmp_path: Path) -> None:
    _, _, err = run("data", "show", tmp_path / "a\nb")
    assert err.count("\n") == 1
    assert "a\\nb" in err


def test_a_reader_that_goes_away_ends_the_command_quietly() -> None:
    source = str(Path(gpucast.__file__).parents[1])
    command = f"PYTHONPATH={source} {sys.executable} -m gpucast.cli data show p2p-copy --all"
    done = subprocess.run(
        ["bash", "-c", f"{command} | true; exit ${{PIPESTATUS[0]}}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    assert done.returncode in (0, app.BROKEN_PIPE)


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (FileNotFoundError(2, "No such file or directory", "gone.jsonl"), 2,
         "error: gone.jsonl: No such file or directory"),
    ],
)  # fmt: skip
def test_what_ends_a_command_is_one_line(
    run: Run, monkeypatch: pytest.MonkeyPatch, error: BaseException, status: int, said: str
) -> None:
    def ended() -> dict[str, Path]:
        raise error

    monkeypatch.setattr("gpucast.cli.data.bundled_files", ended)
    assert run("data", "list") == (status, "", f"gpucast: {said}\n")


def test_labels_that_a_terminal_lacks_are_escaped(steps: Path, tmp_path: Path) -> None:
    target = tmp_path / "data.jsonl"
    assert main(["import", str(steps), "-o", str(target), "--machine", "日本"]) == 0
    done = python("-m", "gpucast.cli", "data", "show", target, PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert "\\u65e5\\u672c" in done.stdout


def test_help_and_version_answer() -> None:
    done = shell("--help")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    listed = [line.split()[0] for line in lines if re.match(r"  [a-z][a-z-]*  +[A-Z]", line)]
    assert listed == [command.name for command in app.COMMANDS]
    assert {f"{name}:" for name in app.GROUPS} <= set(lines)
    assert shell("--version").stdout.startswith("gpucast ")


@pytest.mark.parametrize("module", ["gpucast", "gpucast.errors", "gpucast.cli", "gpucast.cli.app",
                                    "gpucast.util.files", "gpucast.cli.output"])  # fmt: skip
def test_light_modules_import_nothing_heavy(module: str) -> None:
    heavy = "pandas scipy matplotlib numpy rich"
    code = (
        f"import sys, {module}\nprint(*[name for name in {heavy.split()!r} if name in sys.modules])"
    )
    assert python("-c", code).stdout.split() == []


def test_help_of_all_commands_loads_no_command() -> None:
    heavy = "[name for name in ('pandas', 'rich') if name in sys.modules]"
    code = "import sys\nfrom gpucast.cli import main\nmain(['--help'])\n"
    assert python("-c", f"{code}print(*{heavy}, file=sys.stderr)").stderr.split() == []


def test_tables_line_up_for_wide_characters() -> None:
    text = tables.table(("name", "n"), [("日本", 1), ("ab", 10), ("e\u0301", None)])
    assert [tables.width(line) for line in text.splitlines()] == [8, 8, 8, 8, 8]


def test_numbers_for_people() -> None:
    assert [units.duration(value) for value in (2.5, 0.0125, 3e-6, 4e-9)] == [
        "2.5 s", "12.5 ms", "3 us", "4 ns",
    ]  # fmt: skip
    assert [units.size(value) for value in (1, 1024, 2**20, 1025)] == [
        "1 B", "1 KiB", "1 MiB", "1025 B",
    ]  # fmt: skip


def test_steps_are_listed_by_size_and_gpus_whatever_their_order_in_the_file(
    run: Run, tmp_path: Path
) -> None:
    cells = [(4000, 2), (1000, 1), (64000, 1), (1000, 2), (4000, 1)]
    path = tmp_path / "steps.jsonl"
    programs = ("heat", "cold")
    records = [step(*cell, [0.1], program=program) for cell in cells for program in programs]
    dataset([machine(), *records]).dump(path)
    status, out, err = run("data", "show", path, "--all")
    assert status == 0, err
    rows = re.findall(r"(heat|cold) +(\d+) +(\d)", out)
    assert [(int(n), int(gpus)) for _, n, gpus in rows] == sorted(cells) * 2
    assert [program for program, *_ in rows] == ["heat"] * 5 + ["cold"] * 5


def test_steps_of_several_instances_are_listed_by_their_share_of_a_gpu(
    run: Run, tmp_path: Path
) -> None:
    bare = {key: value for key, value in step(1000, 1, [0.1], program="md").items()
            if key not in ("schedule", "kernel")}  # fmt: skip
    shares: list[dict[str, object]] = [
        {"instances": 2, "at_once": 1.9}, {"instances": 4, "mps": True}, {}
    ]  # fmt: skip
    file = tmp_path / "shared.jsonl"
    dataset([machine(), *({**bare, **share} for share in shares)]).dump(file)
    status, out, err = run("data", "show", file)
    assert status == 0, err
    own, shared = out.split("step: 1 records")[1].split("shared_step: 2 records")
    (row,) = (line.split() for line in own.splitlines() if "1000" in line)
    assert row[2:5] == ["md", "1000", "1"]
    rows = [line for line in shared.splitlines() if "1000" in line]
    assert ["1/2" in row for row in rows] == [True, False]
    assert ["1/4" in row for row in rows] == [False, True]
    assert "1.9 at once" in rows[0]
    assert "mps" in rows[1]

    counts = json.loads(run("data", "show", file, "--json")[1])["counts"]
    assert counts["shared_step"] == {"records": 2, "samples": 2}

    more = [{**bare, "n": n, "instances": k} for n in range(1, 30) for k in (4, 2)]
    dataset([machine(), *more]).dump(file, force=True)
    _, out, _ = run("data", "show", file)
    (row,) = [line for line in out.splitlines() if line.startswith("m ")]
    assert "1/4,1/2" in row


OUTPUTS = [
    ("import", "steps.csv", "-o", "-"),
    ("data", "export", "dscuda", "--format", "csv", "-o", "-"),
    ("fit", "dscuda", "-o", "-"),
    ("measure", "--paths", "host", "-o", "-"),
]


@pytest.mark.parametrize("words", OUTPUTS)
def test_a_dash_is_no_output(
    run: Run, steps: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(steps.parent)
    status, out, err = run(*words)
    assert (status, out, len(err.splitlines())) == (2, "", 1)
    assert "-: is not the name of a file" in err or "-o: a campaign goes on from its file" in err
    assert not Path("-").exists()


def test_devices_are_written_to_where_stdout_is_a_pipe(steps: Path) -> None:
    done = shell("data", "export", steps, "--format", "jsonl", "-o", "/dev/stdout")
    assert done.returncode == 0, done.stderr
    kinds = [json.loads(line)["kind"] for line in done.stdout.splitlines()]
    assert kinds.count("step") == 2
