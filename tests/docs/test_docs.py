"""README and documentation: commands run and print what is shown; the site builds and is whole."""

import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from markdown_it import MarkdownIt

import doc_commands
import gpucast
from waiting import HANG

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINKED = [*PAGES, ROOT / "CONTRIBUTING.md"]


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


# ---------------------------------------------------------------- commands ----


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=name)
def test_commands_of_a_page_run_and_print_what_it_shows(page: Path, tmp_path: Path) -> None:
    if needed := missing_programs(page):
        pytest.skip(f"not built: {', '.join(needed)}")
    different = doc_commands.run_page(page, tmp_path)
    assert not different, "\n\n".join(
        f"{name(page)}:{command.line}: {command.text}\n" + "\n".join(printed)
        for command, printed in different
    )


def missing_programs(page: Path) -> set[str]:
    words = {
        word
        for block in doc_commands.blocks(page)
        for command in block.commands
        if not block.needs
        for word in command.text.split()
    }
    here = Path(sys.executable).parent
    return {word for word in words & set(doc_commands.OURS) if not (here / word).exists()}


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=name)
def test_commands_that_cannot_run_here_name_options_that_there_are(page: Path) -> None:
    if not (Path(sys.executable).parent / "gpucast-mdapp").exists():
        pytest.skip("not built: gpucast-mdapp")
    named = list(doc_commands.inline_commands(page))
    for block in doc_commands.blocks(page):
        assert block.needs <= doc_commands.NEEDS, f"{name(page)}:{block.line}"
        named += [(command.line, command.text) for command in block.commands]
    wrong = [
        f"{name(page)}:{line}: {word}"
        for line, text in named
        for word in doc_commands.unknown_words(text)
    ]
    assert not wrong


@pytest.mark.parametrize(
    ("shown", "printed", "expected"),
    [
        ("value 1.00 us", "value  1.01 us", True),
        ("value 1.00 us", "value 1.05 us", False),
        ("value 1.00 us", "value 1.00 ms", False),
        ("k = 4", "k = 5", True),  # one in the last digit
        ("k = 40", "k = 45", False),
        ("a\n...\nd", "a\nb\nc\nd", True),
        ("a\n...\nd", "a\nb\nc", False),
        ("a\n...", "a", True),
        ("----  --", "------  ---", False),
        ("-----  ---", "------  ---", True),
        ("", "anything", True),
        ("a", "a\nb", False),
        ("a", "gpucast: warning: b\na", True),
        ("gpucast: warning: c\na", "gpucast: warning: b\na", False),
        ("1e-05", "1.01e-05", True),
        ("1e-05", "3e-05", False),
    ],
)
def test_output_is_compared_by_its_words_and_numbers(
    shown: str, printed: str, expected: bool
) -> None:
    assert doc_commands.alike(shown.splitlines(), printed.splitlines()) is expected


def test_a_command_that_prints_something_else_is_found_and_renewed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```console\n$ echo 7\n5\n$ echo same\nsame\n```\n")
    (tmp_path / "run").mkdir()
    different = doc_commands.run_page(page, tmp_path / "run")
    assert [(command.text, printed) for command, printed in different] == [("echo 7", ["7"])]
    assert doc_commands.renew(page) == 1
    assert page.read_text() == "```console\n$ echo 7\n7\n$ echo same\nsame\n```\n"


def test_renewed_output_leaves_out_what_the_page_left_out(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    command = "$ printf '%s\\n' 'head 1' x y 'tail 8' z"
    page.write_text(f"```console\n{command}\nhead 3\n...\ntail 5\n...\n```\n")
    assert doc_commands.renew(page) == 1
    assert page.read_text() == f"```console\n{command}\nhead 1\n...\ntail 8\n...\n```\n"


@pytest.mark.parametrize(
    "text",
    [
        "```console\n$ false\n```\n",
        "```python\nassert False\n```\n",
        "```pycon\n>>> 1 + 1\n5\n\n```\n",
    ],
)
def test_a_page_that_fails_is_an_error(text: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(AssertionError):
        doc_commands.run_page(page, tmp_path)


@pytest.mark.parametrize(
    ("command", "wrong"),
    [
        ("gpucast fit data --seed 1 -o model.json", []),
        ("gpucast fit data --sede 1", ["gpucast fit: --sede"]),
        ("gpucast data list --json", []),
        ("gpucast figures paper h200-x4 --native near -o figures", []),
        ("gpucast figures paper h200-x4 --nativ near", ["gpucast figures paper: --nativ"]),
        ("gpucast dtaa list", ["gpucast dtaa"]),
        ("srun gpucast remote run --gpus a:1 -- gpucast fit --bad", ["gpucast fit: --bad"]),
        ("ls --color", []),
    ],
)
def test_a_word_that_no_command_knows_is_found(command: str, wrong: list[str]) -> None:
    assert doc_commands.unknown_words(command) == wrong


# -------------------------------------------------------------------- links ----


@pytest.mark.parametrize("page", PAGES[1:], ids=name)
def test_no_line_is_taken_for_a_comment(page: Path) -> None:
    """MyST leaves out lines of text that begin with a per cent sign."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)
    assert not re.findall(r"^%.*", text, flags=re.M)


@pytest.mark.parametrize("page", LINKED, ids=name)
def test_links_to_files_lead_somewhere(page: Path) -> None:
    missing = [
        target
        for token in MarkdownIt("commonmark").enable("table").parse(page.read_text("utf-8"))
        for child in token.children or []
        for target in (child.attrs.get("href"), child.attrs.get("src"))
        if isinstance(target, str)
        and not re.match(r"[a-z]+:|#", target)
        and not (page.parent / unquote(target.partition("#")[0])).exists()
    ]
    assert not missing


# --------------------------------------------------------------------- site ----


class _Page(HTMLParser):
    """What an HTML page refers to, and what may be referred to in it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.resources: list[str] = []
        self.ids: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.ids.add(values.get("id") or "")
        target = values.get("src") or values.get("href") or ""
        if tag == "a":
            self.links.append(target)
        elif target:
            self.resources.append(target)


@pytest.mark.slow
def test_the_site_builds_without_a_warning_and_is_whole(tmp_path: Path) -> None:
    # One test, as a build takes 15 s of a core.
    if shutil.which("doxygen") is None:
        pytest.skip("no doxygen")
    if not (Path(sys.executable).parent / "gpucast-mdapp").exists():
        pytest.skip("not built: gpucast-mdapp")
    site = tmp_path / "html"
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet", "-b",
         "html", "-d", tmp_path / "trees", ROOT / "docs", site],
        text=True, capture_output=True, check=False, timeout=HANG,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    pages = {path.resolve(): _Page(path) for path in site.rglob("*.html")}
    assert not dead_links(pages)
    assert not fetched_from_elsewhere(pages)
    assert not missing_in_commands(site)
    assert not missing_in_records(site)
    assert not missing_in_python(site)
    assert not missing_in_cpp(site)
    formulas = reference(site, "model-terms.html")
    assert formulas.count("<math ") > 60
    assert "$$" not in formulas
    assert not faint_code(site)
    # A line may end neither between a number and its unit nor within an option.
    design = (site / "results" / "design.html").read_text(encoding="utf-8")
    assert "33\u00a0%" in design
    assert "33 %" not in design
    assert "--path" in re.sub(r"<code.*?</code>", "", (site / "machine-2015.html").read_text())


def faint_code(site: Path) -> list[str]:
    """Colours of code that have less than WCAG's contrast of 4.5 with what is behind them."""
    style = (site / "_static" / "pygments.css").read_text(encoding="utf-8")
    paper, faint = "", []
    for rule, behind, colour in re.findall(
        r"\.highlight ?(\S*) \{(?: background: (#\w+);)? color: (#\w+)[; ]", style
    ):
        paper = behind or paper  # light first, then dark, each with its own
        if rule == ".w" or "linenos" in rule:  # white space; numbers of lines, which no page shows
            continue
        brighter, darker = sorted(map(_luminance, (colour, paper)), reverse=True)
        if (brighter + 0.05) / (darker + 0.05) < 4.5:
            faint.append(f"{rule} {colour} on {paper}")
    assert paper
    return faint


def _luminance(colour: str) -> float:
    """Relative luminance of a colour in hexadecimal digits, as WCAG 2 defines it."""
    digits = colour.removeprefix("#")
    if len(digits) == 3:
        digits = "".join(2 * value for value in digits)
    linear = [
        value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4
        for value in (int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4))
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def reference(site: Path, page: str) -> str:
    return (site / "reference" / page).read_text(encoding="utf-8")


def dead_links(pages: dict[Path, _Page]) -> list[str]:
    dead = []
    for path, page in pages.items():
        for target in page.links + page.resources:
            if re.match(r"[a-z]+:", target):
                continue
            file, _, anchor = unquote(target).partition("#")
            linked = (path.parent / file.partition("?")[0]).resolve() if file else path
            if not linked.exists() or (
                anchor and linked in pages and anchor not in pages[linked].ids
            ):
                dead.append(f"{path.name}: {target}")
    return dead


def fetched_from_elsewhere(pages: dict[Path, _Page]) -> list[str]:
    return [
        resource
        for page in pages.values()
        for resource in page.resources
        if re.match(r"(https?:)?//", resource)
    ]


def missing_in_commands(site: Path) -> set[str]:
    page, commands = reference(site, "commands.html"), doc_commands.gpucast_options()
    wanted = {f"gpucast {word}" for word in commands if word}
    wanted |= {option for name, options in commands.items() if name for option in options}
    # Arguments stand there as --help names them.
    return {word for word in wanted if word not in page and word.upper() not in page}


def missing_in_records(site: Path) -> set[str]:
    page = reference(site, "records.html")
    schema = json.loads((ROOT / "records" / "gpucast.record.schema.json").read_text("utf-8"))
    fields = {
        field
        for definition in schema["$defs"].values()
        for field in definition.get("properties", {})
    }
    assert len(fields) > 40
    return {field for field in fields if f">{field}<" not in page}


def missing_in_python(site: Path) -> set[str]:
    ids = _Page(site / "reference" / "python.html").ids
    return {public for public in gpucast.__all__ if f"gpucast.{public}" not in ids}


def missing_in_cpp(site: Path) -> set[str]:
    # Headers of scaling terms are named as other terms are, and have a page of their own.
    own_page = ROOT / "model" / "include" / "gpucast" / "model" / "scaling"
    return {
        header.name
        for part in ("model", "fit", "records")
        for header in (ROOT / part / "include").rglob("*.h")
        if own_page not in header.parents and header.name not in reference(site, f"cpp/{part}.html")
    }
