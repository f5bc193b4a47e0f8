"""The command ``gpucast figures``: what it draws and what it refuses."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import gpucast as gc
from command_line import Run, assert_refused, files_of, only_json
from contention_samples import four_gpus
from document_samples import series, whole
from gpucast.cli import step_figures
from gpucast.paths import contention
from gpucast.paths.series import series_of
from gpucast.show.plots import transfers
from gpucast.util.files import write_all
from made_data import NATIVE, VIRTUALIZED, dataset, machine, microbenchmarks, step, steps
from other_programs import md, records

SIGNATURES = {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml"}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    file = tmp_path / "d.jsonl"
    dataset([machine(), *whole(), *four_gpus()]).dump(file)
    return file


@pytest.mark.slow
def test_a_folder_gets_every_figure_in_every_format(run: Run, data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "figures"
    status, out, err = run("figures", "transfer", data, "-o", folder, "--formats", "png,svg")
    assert (status, err) == (0, "")
    names = ("transfer-time", "transfer-bandwidth", "contention", "launches", "overlap")
    written = files_of(folder)
    assert set(written) >= {f"{name}.{end}" for name in names[:2] for end in ("png", "svg")}
    assert {name.split(".")[0].rstrip("-12") for name in written} == set(names)
    for name, content in written.items():
        assert content.startswith(SIGNATURES[name.split(".")[1]])
    assert out.count("wrote ") == len(written)


def test_a_file_holds_the_one_figure_that_is_named(run: Run, data: Path, tmp_path: Path) -> None:
    target = tmp_path / "one.pdf"
    _, out, _ = run("figures", "transfer", data, "-o", target, "--only", "launches", "--json")
    assert only_json(out)["figures"] == [str(target)]
    assert target.read_bytes().startswith(SIGNATURES["pdf"])
    assert_refused(run("figures", "transfer", data, "-o", target, "--only", "launches"), "--force")
    again = run("figures", "transfer", data, "-o", target, "--only", "overlap", "--force")
    assert again[0] == 0


def test_what_cannot_be_drawn_is_refused_and_nothing_written(
    run: Run, data: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "f"
    for arguments, words in (
        ((data, "-o", tmp_path / "a.png"), "--only"),
        ((data, "-o", folder, "--formats", "bmp"), "bmp"),
        ((data, "-o", data / "x"), "d.jsonl"),
        (("copy-timed-2012", "-o", folder), "nothing"),
        (("copy-timed-2012", "-o", folder, "--only", "overlap"), "overlap"),
    ):
        assert_refused(run("figures", "transfer", *arguments), words)
    assert set(files_of(tmp_path)) == {"d.jsonl"}
    folder.mkdir()
    (folder / "launches.png").write_text("old")
    assert_refused(run("figures", "transfer", data, "-o", folder), "launches.png")
    assert set(files_of(folder)) == {"launches.png"}


def test_ways_that_take_as_long_are_drawn_once() -> None:
    made = [r for memory in ("pinned", "mapped", "portable")
            for r in series("h2d", memory=memory, method="call")]  # fmt: skip
    slow = [
        {**r, "memory": "pageable", "seconds": [3 * s for s in r["seconds"]]} for r in made[:16]
    ]
    panels = transfers.drawn(series_of(dataset([machine(), *made, *slow])))
    figure = transfers.transfer_times(panels, "title")
    (axes,) = figure.axes
    (legend,) = figure.legends
    shown = [text.get_text() for text in legend.get_texts()]
    assert shown == ["pinned, mapped, portable, call", "pageable, call"]
    assert axes.get_legend() is None  # it would hide points


def test_bandwidth_is_bytes_by_time() -> None:
    panels = transfers.drawn(series_of(dataset([machine(), *series("h2d")])))
    (axes,) = transfers.bandwidths(panels, "title").axes
    (points,) = [c for c in axes.containers if c.get_label() == "pinned"]
    x, y = points[0].get_data()
    assert y[-1] == pytest.approx(x[-1] / (1e-5 + x[-1] / 5e10) / 1e9)


def test_the_matrix_shows_the_factors() -> None:
    (timed,) = contention.contention(dataset([machine(), *four_gpus()]))
    axes = transfers.contention_matrix(timed, "title").axes[0]
    shown = [text.get_text() for text in axes.texts]
    assert shown.count("1.25") == 8
    assert len(shown) == len(timed.pairs)


# --- steps, documents, findings, all of it ---------------------------------------------------


@pytest.fixture(scope="module")
def step_files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Steps and links of two paths, and a model of the native one."""
    folder = tmp_path_factory.mktemp("steps")
    rng = np.random.default_rng(0)
    records = [machine()]
    for truth, path in ((NATIVE, "native"), (VIRTUALIZED, "remote")):
        records += steps(truth.seconds, rng, n=[1000, 8000, 64000], gpus=[1, 4], path=path)
        records += microbenchmarks(truth, rng, path=path)
    data = dataset(records)
    file, model = folder / "steps.jsonl", folder / "native.json"
    data.dump(file)
    gc.fit(data, path="native", model="paper", replicates=40).save(model)
    return file, model


def test_captions_name_files_without_their_folders(step_files: tuple[Path, Path]) -> None:
    caption = step_figures.whose(gc.load(step_files[0]))
    assert caption.startswith("Measured: steps.jsonl")
    assert str(step_files[0].parent) not in caption


@pytest.mark.parametrize(
    ("named", "counts", "said"),
    [
        (1, (1, 2, 8), "(A100, 1 to 8 GPUs)"),
        (1, (8,), "(8 x A100)"),
        (1, (1,), "(1 x A100)"),
        (4, (1, 2), "(4 x A100)"),
    ],
)
def test_captions_say_on_how_many_gpus_steps_ran(
    named: int, counts: tuple[int, ...], said: str
) -> None:
    """A log names the kind of its GPUs once, however many there are."""
    of_machine = {"kind": "machine", "id": "m", "gpus": [{"name": "A100"}] * named}
    ran = [step(1000, count, [1e-3], machine="m") for count in counts]
    assert said in step_figures.whose(dataset([of_machine, *ran]))


@pytest.mark.parametrize("what", ["gflops", "steps", "shares", "paths"])
def test_one_figure_of_steps_is_written(
    run: Run, step_files: tuple[Path, Path], tmp_path: Path, what: str
) -> None:
    target = tmp_path / "one.svg"
    command = ("figures", what, *step_files, "--model", "none", "-o", target)
    status, out, err = run(*command, "--json")
    assert (status, err) == (0, "")
    assert only_json(out)["figures"] == [str(target)]
    assert target.read_bytes().startswith(SIGNATURES["svg"])
    assert_refused(run(*command), "--force")
    assert run(*command, "--force")[0] == 0


def test_a_path_without_a_model_file_is_fitted(
    run: Run, step_files: tuple[Path, Path], tmp_path: Path
) -> None:
    target = tmp_path / "steps.svg"
    status, _, err = run("figures", "steps", *step_files, "--model", "paper", "-o", target)
    assert (status, err) == (0, "")
    text = "".join(re.findall(r"<!-- (.*?) -->", target.read_text()))
    assert "native: paper; remote: paper" in text


@pytest.mark.slow
def test_all_figures_and_findings_are_written_or_none(
    run: Run, step_files: tuple[Path, Path], tmp_path: Path
) -> None:
    folder = tmp_path / "all"
    command = ("figures", "paper", *step_files, "--model", "none", "--formats", "svg", "-o")
    status, out, err = run(*command, folder)
    assert (status, err) == (0, "")
    written = files_of(folder)
    of_steps = ("gflops", "steps", "shares", "paths", "residuals", "remote-costs")
    documents = ("p2p-copy", "dscuda-transfer", "copies", "contention", "host-memory")
    assert set(written) == {
        *(f"{name}.svg" for name in of_steps),
        *(f"document-{name}.svg" for name in documents),
        "findings.md",
        "findings.json",
    }
    assert out.count("wrote ") == len(written)
    told = json.loads(written["findings.json"])["findings"]
    assert [finding["verdict"] for finding in told][:2] == ["true", "true"]
    assert written["findings.md"].decode().startswith("# The paper's findings on ")
    assert_refused(run(*command, folder), "--force")
    (folder / "gflops.svg").unlink()
    assert_refused(run(*command, folder), "steps.svg", "--force")
    assert not (folder / "gflops.svg").exists()


def test_files_that_are_new_go_again_where_one_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "b.png").mkdir()
    new = tmp_path / "new" / "a.png"
    with pytest.raises(gc.InputError):
        write_all({new: b"x", tmp_path / "b.png": b"y"}, force=True)
    assert set(tmp_path.iterdir()) == {tmp_path / "b.png"}


def test_findings_are_a_table_or_json(run: Run, step_files: tuple[Path, Path]) -> None:
    status, out, _ = run("figures", "findings", *step_files)
    assert status == 0
    assert re.search(r"Gflops fall with N at small n +true +0\.\d+", out)
    told = only_json(run("figures", "findings", *step_files, "--json")[1])["findings"]
    assert len(told) == 6
    assert all(finding["verdict"] for finding in told)
    assert told[4]["verdict"] == "true"
    full = run("figures", "findings", *step_files, "--all")[1]
    assert "t_kernel, submitted" in full
    assert "t_kernel, submitted" not in out


def test_what_makes_no_figure_of_steps_is_refused(
    run: Run, step_files: tuple[Path, Path], tmp_path: Path
) -> None:
    data, model = step_files
    out = ("-o", tmp_path / "x.svg")
    none = ("--model", "none")
    for arguments, words in (
        (("steps", "p2p-copy", *out), "no steps"),
        (("steps", "moon", *out), "moon"),
        (("steps", data, *out, "--kernel", "tuned"), "there are: claret"),
        (("paths", model, *out), "one path only"),
        (("shares", data, *out, *none), "neither a model nor a timed phase"),
        (("gflops", model, *out, "-n", "1,2,3,4,5,6,7,8,9"), "at most 8"),
        (("gflops", model, *out, "-n", "x"), "'x'"),
        (("paper", model, *out), "folder"),
        (("findings", model), "name a dataset"),
        (("findings", data, "--native", "moon"), "there are: native, remote"),
        (("documents", *out), "a file holds one figure"),
        (("documents", *out, "--only", "moon"), "p2p-copy"),
    ):
        assert_refused(run("figures", *arguments), words)
    assert list(tmp_path.iterdir()) == []


def test_shares_of_a_program_known_by_its_times_alone_are_refused_for_what_its_model_is(
    run: Run, tmp_path: Path
) -> None:
    data, model = tmp_path / "md.jsonl", tmp_path / "md.json"
    records().dump(data)
    md().save(model)
    refused = run("figures", "shares", data, model, "-o", tmp_path / "x.svg")
    assert_refused(refused, "does not split a step into T_gpu, T_cpu and T_com")


def test_a_document_may_be_plotted_alone(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "p2p.pdf"
    arguments = ("--only", "p2p-copy", "--beside", "none", "-o", target)
    assert run("figures", "documents", *arguments)[0] == 0
    assert target.read_bytes().startswith(SIGNATURES["pdf"])


@pytest.mark.parametrize(
    ("name", "axis", "other"),
    [
        ("gflops", "--gpus", "-n"),
        ("steps", "-n", "--gpus"),
        ("shares", "--gpus", "-n"),
        ("paths", "-n", "--gpus"),
    ],
)
def test_what_a_figure_has_on_its_axis_cannot_be_chosen(
    run: Run, tmp_path: Path, name: str, axis: str, other: str
) -> None:
    """It was ignored, so that the figure did not show what was requested."""
    file = tmp_path / "d.jsonl"
    records().dump(file)
    refused = run("figures", name, file, axis, "2", "--model", "none", "-o", tmp_path / "x.png")
    assert_refused(refused, f"{axis}: is the axis", other)
    assert not (tmp_path / "x.png").exists()


def test_scaling_is_drawn_of_a_model_or_a_table(run: Run, tmp_path: Path) -> None:
    md().save(tmp_path / "md.json")
    shown = ("--what", "rate,efficiency", "--over", "nodes", "--gpus-per-node", 2)
    shown += ("--size", "120x80")
    status, _, err = run("figures", "scaling", tmp_path / "md.json", *shown, "-o", tmp_path / "a")
    assert status == 0, err
    assert {path.name for path in (tmp_path / "a").iterdir()} == {
        f"scaling.{ending}" for ending in SIGNATURES
    }
    records().dump(tmp_path / "md.jsonl")
    labels = ("--title", "Mine", "--x-label", "cards", "--y-label", "wait")
    file = tmp_path / "b.svg"
    assert run("figures", "scaling", tmp_path / "md.jsonl", *labels, "-o", file)[0] == 0
    weak = ("--per-gpu", 24000, "--what", "efficiency", "-o", tmp_path / "weak.pdf")
    assert run("figures", "scaling", tmp_path / "md.json", *weak)[0] == 0


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (("--what", "speed"), "'speed' is none of time, rate, speed-up, efficiency"),
        (("--over", "nodes"), "gpus_per_node"),
        (("--size", "wide"), "'wide' is no size in mm such as 88x110"),
        (("-n", "1000-9000:1000"), "9 lines"),
    ],
)
def test_scaling_that_cannot_be_drawn_is_refused(
    wrong: tuple[str, ...], words: str, run: Run, tmp_path: Path
) -> None:
    md().save(tmp_path / "md.json")
    refused = run("figures", "scaling", tmp_path / "md.json", *wrong, "-o", tmp_path / "a.png")
    assert_refused(refused, words)
    assert not (tmp_path / "a.png").exists()


def test_figures_of_ones_own_come_first_in_help_and_the_papers_last(run: Run) -> None:
    listed = re.findall(
        r"^  ([a-z]+)  ", run("figures", "--help")[1].partition("Commands:")[2], re.M
    )
    assert listed[:2] == ["scaling", "steps"]
    assert listed[-3:] == ["paper", "documents", "findings"]
