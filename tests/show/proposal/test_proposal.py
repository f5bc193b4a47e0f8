"""``gpucast proposal``: a folder whose files open, with the numbers of ``gpucast predict``."""

import csv
import hashlib
import io
import re
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import docx
import openpyxl
import pytest
from PIL import Image

import gpucast as gc
from command_line import Run, assert_refused, only_json
from gpucast import demo
from gpucast.cli import main
from gpucast.show.proposal.tables import numerals_of
from other_programs import SIZES, md

WATER = Path(demo.__file__).with_name("water.csv")
ROOT = Path(__file__).parents[3]
FILES = {
    *(f"strong-scaling.{ending}" for ending in ("pdf", "svg", "png")),
    *(f"weak-scaling.{ending}" for ending in ("pdf", "svg", "png")),
    *(f"table.{ending}" for ending in ("md", "tex", "csv", "xlsx", "docx")),
    *("proposal.md", "proposal.docx", "gpucast.bib"),
}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    md().save(tmp_path / "md.json")
    return tmp_path / "md.json"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A proposal, which tests read."""
    target = tmp_path_factory.mktemp("proposal")
    md().save(target / "md.json")
    wanted = "--gpus-per-node 4 --runs 3 --steps 2e8 --queue-limit 24h"
    words = ["proposal", str(target / "md.json"), "-o", str(target / "out"), *wanted.split()]
    assert main(words) == 0
    return target / "out"


def test_one_command_makes_the_folder_from_a_table(run: Run, tmp_path: Path) -> None:
    status, out, err = run("proposal", WATER, "-o", tmp_path / "out")
    assert status == 0, err
    assert {path.name for path in (tmp_path / "out").iterdir()} == FILES
    assert "128 GPUs are sensible" in out
    assert "--runs and --steps" in err  # nobody stated them
    text = (tmp_path / "out" / "proposal.md").read_text()
    assert hashlib.sha256(WATER.read_bytes()).hexdigest() in text
    assert str(WATER.parent) not in text


def test_its_numbers_are_those_of_predict(run: Run, tmp_path: Path, model: Path) -> None:
    answer = only_json(run("proposal", model, "-o", tmp_path / "out", "--json")[1])
    sweep = answer["strong"][0]
    gpus = ",".join(str(row["gpus"]) for row in sweep["rows"])
    predicted = only_json(run("predict", model, "-n", sweep["n"], "--gpus", gpus, "--json")[1])
    shared = ("n", "gpus", "seconds", "low", "high", "measured", "efficiency", "extrapolated")
    for own, other in zip(sweep["rows"], predicted["forecast"], strict=True):
        for key in (*shared, "steps_per_second", "ns_per_day"):
            assert own[key] == (other[key] and pytest.approx(other[key], rel=1e-12)), key
    sensible = only_json(
        run("predict", model, "-n", sweep["n"], "--gpus", "1-16", "--best", "--json")[1]
    )["sensible"]
    assert answer["sensible"] == [pytest.approx(one) for one in sensible]


def test_figures_are_vectors_as_wide_as_a_column(folder: Path) -> None:
    for kind in ("strong", "weak"):
        root = ET.fromstring((folder / f"{kind}-scaling.svg").read_bytes())
        millimetres = float(root.attrib["width"].removesuffix("pt")) / 72 * 25.4
        assert 80 <= millimetres <= 90
        assert not list(root.iter("{http://www.w3.org/2000/svg}image"))
        pdf = (folder / f"{kind}-scaling.pdf").read_bytes()
        assert pdf.startswith(b"%PDF-")
        assert b"/Subtype /Image" not in pdf
        with Image.open(folder / f"{kind}-scaling.png") as picture:
            picture.verify()


def test_every_form_of_the_table_has_the_same_cells(folder: Path) -> None:
    markdown = [
        [cell.strip() for cell in line.strip("| ").split("|")]
        for line in (folder / "table.md").read_text().splitlines()
        if line.startswith("| ") and "--:" not in line
    ]
    document = docx.Document(str(folder / "table.docx"))
    words = [[cell.text for cell in row.cells] for table in document.tables for row in table.rows]
    assert words == markdown
    latex = [
        [_plain(cell) for cell in line.removesuffix(r" \\").split(" & ")]
        for line in (folder / "table.tex").read_text().splitlines()
        if line.endswith(r"\\")
    ]
    assert latex == markdown


def _plain(latex: str) -> str:
    if stacked := re.fullmatch(r"\\shortstack\[r\]\{(.*)\}", latex):
        latex = stacked[1].replace(r"\\", " ")
    signs = {r"$^\dagger$": "†", r"$\mu$": "µ", "--": "–", "~": "\u00a0", "\\": ""}
    for command, sign in signs.items():
        latex = latex.replace(command, sign)
    return latex


def test_csv_and_workbook_have_numbers_in_full(folder: Path) -> None:
    with (folder / "table.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    book = openpyxl.load_workbook(folder / "table.xlsx")
    assert book.sheetnames == ["strong scaling", "weak scaling", "hours", "notes"]
    head, *cells = book["strong scaling"].iter_rows(values_only=True)
    at = {str(name): place for place, name in enumerate(head)}
    forecast = md().forecast(SIZES[-1], [int(line["gpus"]) for line in lines if _strong(line)])
    for line, row, seconds in zip(filter(_strong, lines), cells, forecast.seconds, strict=True):
        times = [float(line["seconds"]), row[at["seconds"]]]
        assert times == pytest.approx([seconds, seconds], rel=1e-12)
        assert line["reference_gpus"] == "1"
    hours = book["hours"]
    assert hours.max_row == 4
    assert "N_ref" in str(book["notes"]["A2"].value)


def _strong(line: dict[str, str]) -> bool:
    return line["scaling"] == "strong"


def test_the_text_states_what_is_asked_for(folder: Path) -> None:
    text = (folder / "proposal.md").read_text()
    hours = re.search(r"\*\*([\d,.]+) GPU hours\*\* \(\*\*([\d,.]+) node hours\*\*\)", text)
    assert hours
    gpu, node = (float(number.replace(",", "")) for number in hours.groups())
    assert gpu == pytest.approx(4 * node, rel=1e-3)
    assert "3 runs of 200,000,000 steps" in text
    for heading in ("## Scaling", "## Number of GPUs", "## Resources asked for"):
        assert heading in text
    assert "N_ref T(N_ref) / (N T(N))" in text
    written = docx.Document(str(folder / "proposal.docx"))
    headings = [p.text for p in written.paragraphs if p.style and p.style.name == "Heading 2"]
    assert headings[:2] == ["Scaling", "Number of GPUs"]
    assert len(written.inline_shapes) == 2


@pytest.mark.parametrize(
    ("form", "asks"),
    [
        ("archer2", ("Technical Assessment", "Job sizes", "CU a run", "six months")),
        ("eurohpc", ("Job profile", "Justification of the node hours", "Scalability")),
        ("hlrs", ("5.1 Code performance and workflow", "5.2 Justification")),
        ("ncar", ("C.2 Computational experiments", "C.4 Resources requested")),
    ],
)
@pytest.mark.parametrize("nodes", [(), ("--gpus-per-node", 4)])
def test_forms_are_filled(
    form: str, asks: tuple[str, ...], nodes: tuple[Any, ...], run: Run, tmp_path: Path, model: Path
) -> None:
    target = tmp_path / form
    status, _, err = run("proposal", model, "-o", target, "--form", form, *nodes)
    assert status == 0, err
    text = (target / "proposal.md").read_text()
    for words in asks:
        assert words in text
    assert "None" not in text
    assert "GPU hours" in text


def test_a_batch_of_each_gpu_is_asked_for_in_what_n_counts(
    run: Run, tmp_path: Path, model: Path
) -> None:
    words = ("-n", "1e5", "--size-of", "gpu", "--work", "1e9", "--form", "ncar")
    status, out, err = run("proposal", model, "-o", tmp_path / "out", *words)
    assert status == 0, err
    assert "n = 100000 a GPU: " in out
    assert "--runs and --steps" not in err
    text = (tmp_path / "out" / "proposal.md").read_text()
    for sentence in ("1 run of 1,000,000,000 atoms of each", "For 100,000 atoms a GPU, the largest",
                     "Weak scaling with 100,000 atoms a GPU"):  # fmt: skip
        assert sentence in text
    refused = run("proposal", model, "-o", tmp_path / "no", "--work", "1e9", "--steps", "10")
    assert_refused(refused, "--work", "either --steps or --work")


def test_a_table_of_nodes_alone_is_read_with_the_gpus_of_a_node(run: Run, tmp_path: Path) -> None:
    table = tmp_path / "nodes.csv"
    table.write_text("atoms,nodes,ms\n1000000,1,8\n1000000,2,4.4\n1000000,4,2.5\n2000000,4,4.6\n")
    command = ("proposal", table, "-o", tmp_path / "out")
    assert_refused(run(*command), "nodes.csv", "gpus=nodes*4")
    content = only_json(run(*command, "--gpus-per-node", 4, "--json")[1])
    assert content["domain"]["gpus"] == [4, 16]


def test_that_another_kind_of_gpu_is_forecast_is_said(run: Run, tmp_path: Path) -> None:
    moved = gc.what_if(md(), kind="H100-SXM5", from_kind="A100-SXM4-40GB")
    moved.save(tmp_path / "moved.json")
    assert run("proposal", tmp_path / "moved.json", "-o", tmp_path / "out")[0] == 0
    text = (tmp_path / "out" / "proposal.md").read_text()
    assert "what is forecast is on H100-SXM5, by timings of other programs;" in text
    assert "- a step on H100-SXM5 is taken as" in text


def test_weak_scaling_by_one_measured_size_is_called_a_guess(run: Run, tmp_path: Path) -> None:
    table = tmp_path / "one.csv"
    table.write_text("atoms,GPUs,ms\n1000000,1,8\n1000000,2,4.4\n1000000,4,2.5\n1000000,8,1.6\n")
    assert run("proposal", table, "-o", tmp_path / "out")[0] == 0
    text = (tmp_path / "out" / "proposal.md").read_text()
    assert text.count("One size alone was measured") == 1
    assert "were measured for 1,000,000 atoms on 1 to 8 GPUs" in text


def test_a_template_of_ones_own_gets_numbers_and_tables(
    run: Run, tmp_path: Path, model: Path
) -> None:
    own = tmp_path / "mine.tex"
    own.write_text(r"\emph{ {{- c.jobs[0].gpu_hours|number -}} } {{ strong_tables|length }}")
    status, _, err = run("proposal", model, "-o", tmp_path / "out", "--template", own)
    assert status == 0, err
    assert re.fullmatch(r"\\emph\{[\d.,]+\} 1", (tmp_path / "out" / "proposal.tex").read_text())
    own.write_text("{{ c.nothing }}")
    refused = run("proposal", model, "-o", tmp_path / "other", "--template", own)
    assert_refused(refused, "mine.tex", "nothing")
    own.write_text("one\n{% if %}")
    assert_refused(
        run("proposal", model, "-o", tmp_path / "other", "--template", own), "mine.tex:2"
    )
    assert not (tmp_path / "other").exists()


def test_numbers_are_written_as_in_a_country(run: Run, tmp_path: Path, model: Path) -> None:
    assert run("proposal", model, "-o", tmp_path / "out", "--locale", "de")[0] == 0
    table = (tmp_path / "out" / "table.md").read_text()
    numbers = [line for line in table.splitlines() if line.startswith("| ")]
    assert numbers
    assert not any(re.search(r"\d\.\d", line) for line in numbers)
    assert re.search(r"\d,\d", "".join(numbers))
    text = (tmp_path / "out" / "table.csv").read_text()
    line = next(csv.DictReader(io.StringIO(text), delimiter=";"))
    assert float(line["seconds"].replace(",", ".")) > 0


@pytest.mark.parametrize(
    ("locale", "number", "words"),
    [
        ("en", "1,234,567", "1.5 ms"),
        ("de", "1\u202f234\u202f567", "1,5 ms"),
        ("de-AT.UTF-8", "1\u202f234\u202f567", "1,5 ms"),
        ("de_CH", "1’234’567", "1.5 ms"),
    ],
)
def test_numerals(locale: str, number: str, words: str) -> None:
    numerals = numerals_of(locale)
    assert numerals.number(1_234_567) == number
    assert numerals.duration(1.5e-3) == words.replace(" ", "\u00a0")


def test_an_unknown_language_is_refused(run: Run, tmp_path: Path, model: Path) -> None:
    assert_refused(run("proposal", model, "-o", tmp_path / "x", "--locale", "xx"), "--locale", "xx")


def test_a_folder_with_files_is_replaced_by_force_alone(
    run: Run, folder: Path, model: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(folder, tmp_path / "out"))
    assert_refused(run("proposal", model, "-o", folder), "table.md", "--force")
    assert run("proposal", model, "-o", folder, "--force")[0] == 0


def test_what_cannot_be_is_refused_before_anything_is_written(
    run: Run, tmp_path: Path, model: Path
) -> None:
    (tmp_path / "file").touch()
    assert_refused(run("proposal", model, "-o", tmp_path / "file"), "no folder")
    (tmp_path / "own.md").write_bytes(b"\xff")
    own = ("--template", tmp_path / "own.md")
    assert_refused(run("proposal", model, "-o", tmp_path / "out", *own), "own.md", "UTF-8")
    for wrong, words in (
        (("--per-gpu", "0"), "per_gpu: 0 is no size"),
        (("--efficiency", "70"), "efficiency: 70 is no share"),
        (("--reserve", "10"), "reserve: 10 is no share"),
        (("--size", "0x0"), "--size: '0x0' is no size"),
    ):
        assert_refused(run("proposal", model, "-o", tmp_path / "out", *wrong), words)
    assert not (tmp_path / "out").exists()


def test_step_times_of_several_kinds_are_chosen_from(run: Run, tmp_path: Path) -> None:
    command = ("proposal", "ddp-h200", "-o", tmp_path / "out")
    assert_refused(run(*command), "--case")
    assert run(*command, "--case", "resnet50")[0] == 0


def test_where_no_count_is_efficient_enough_it_is_said(
    run: Run, tmp_path: Path, model: Path
) -> None:
    command = ("proposal", model, "-o", tmp_path / "out", "--gpus-per-node", 16, "--name", "MD")
    status, out, _ = run(*command, "--efficiency", 0.99)
    assert status == 0
    assert "16 GPUs are the fewest, and no count is sensible" in out
    text = (tmp_path / "out" / "proposal.md").read_text()
    assert "no count of whole nodes considered has a parallel efficiency of 99" in text
    assert text.startswith("# Scaling and resources: MD\n")


def test_a_bundled_reconstruction_is_a_model_too(run: Run, tmp_path: Path) -> None:
    status, _, err = run("proposal", "reconstructed-2015-native", "-o", tmp_path / "out")
    assert status == 0, err


def test_the_same_from_python(tmp_path: Path) -> None:
    content = gc.proposal(
        WATER, tmp_path / "out", n=1_000_002, gpus_per_node=4, runs=2, interval="later"
    )
    assert {path.name for path in (tmp_path / "out").iterdir()} == FILES
    assert content["sensible"][0]["gpus"] == 32
    assert content["jobs"][0]["nodes"] == 8
    with pytest.raises(gc.InputError, match="'theirs' is none of general, archer2"):
        gc.proposal(WATER, tmp_path / "theirs", form="theirs")


def test_the_bibliography_is_that_of_the_project(folder: Path) -> None:
    cited = (folder / "gpucast.bib").read_text()
    stated = (ROOT / "CITATION.cff").read_text()
    title = re.search(r'^title: "(.*)"$', stated, re.M)
    author = re.search(r"- name: (.*)$", stated, re.M)
    assert title
    assert author
    assert title[1] in cited.replace("{GPU}", "GPU")
    assert author[1] in cited
