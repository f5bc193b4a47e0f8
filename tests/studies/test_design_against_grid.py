"""How designs are judged against the grid, from errors that are made up."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import design_against_grid
import design_kept
import design_page
from design_against_grid import Found, Group

GRID = np.random.default_rng(1).lognormal(-4, 1, 40)


def found(factor: float, visited: float = 14) -> Found:
    """Of a design whose errors are the grid's, in another order, times a factor."""
    design = factor * np.random.default_rng(2).permutation(GRID)
    errors = {"grid": GRID.tolist(), "design": design.tolist(), "random": (2 * GRID).tolist()}
    counts = {"grid": 40.0, "design": visited, "random": 13.0}
    return Found("table", "steps", 1 / 3, 0.01, errors, counts)


def test_the_same_errors_are_no_worse_and_three_times_as_large_ones_are() -> None:
    same, worse = found(1), found(3)
    assert same.ratio() == pytest.approx(1)
    assert same.by_chance() > 0.3
    assert worse.ratio() == pytest.approx(3)
    assert worse.by_chance() < 0.05


def test_ratios_are_averaged_as_factors() -> None:
    assert design_page.mean_ratio([found(0.5), found(2)])[0] == pytest.approx(1)


def test_the_page_counts_groups_that_are_large_enough() -> None:
    small = replace(found(9), visited=found(9, 4).visited)
    page = design_page.text([found(1), found(3), small])
    assert "Over 2 groups" in page
    assert "in 1 of the groups it is no worse" in page
    assert f"**{3**0.5:.2f} times**" in page
    assert "| table | 2 |" in page
    assert design_page.groups_csv([found(1), found(3), small]).count("table,steps,") == 3


def test_the_picture_shows_what_the_table_says() -> None:
    small = replace(found(9), visited=found(9, 5.75).visited)
    marks = design_page.marks_in(design_page.groups_csv([found(1), found(3), small]))
    medians = [100 * found(factor).median("design") for factor in (1, 3)]
    assert [design for _, design, _ in marks] == pytest.approx(medians, rel=0.05)
    assert [worse for _, _, worse in marks] == [False, True]
    published = Path(__file__).parents[2] / "docs" / "results" / "design.md"
    marks = design_page.marks_in(published.with_suffix(".csv").read_text())
    assert f"Over {len(marks)} groups" in published.read_text()


def run(monkeypatch: pytest.MonkeyPatch, *options: str) -> int:
    monkeypatch.setattr(sys, "argv", ["design_against_grid.py", *options])
    return design_against_grid.main()


def test_a_page_can_be_made_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each group once, whatever ends a run, and the page is that of one run."""
    groups = design_against_grid.groups_of("lammps-lj-v100")
    groups = [replace(groups[0], name=name) for name in "abc"]
    made: list[str] = []

    def compared(group: Group, share: float, folds: int) -> Found:
        if made[-1:] == ["b"] and not (tmp_path / "goes on").exists():
            raise KeyboardInterrupt
        made.append(group.name)
        return replace(found(1 + len(made)), data=group.name, share=share)

    monkeypatch.setattr(
        design_against_grid,
        "groups_of",
        lambda name: [group for group in groups if group.name == name],
    )
    monkeypatch.setattr(design_against_grid, "label", lambda group: group.name)
    monkeypatch.setattr(design_against_grid, "compared", compared)
    keep, page = tmp_path / "kept" / "found.jsonl", tmp_path / "design.md"
    options = ("--data", "a", "b", "c", "--keep", str(keep), "-o", str(page))
    assert run(monkeypatch, *options, "--minutes", "0") == 1
    assert made == []
    with pytest.raises(KeyboardInterrupt):
        run(monkeypatch, *options)
    assert made == ["a", "b"]
    assert not page.exists()
    with keep.open("a") as stream:
        stream.write('{"key": ["half')  # of a run that was killed
    (tmp_path / "goes on").touch()
    assert run(monkeypatch, *options) == 0
    assert made == ["a", "b", "c"]
    groups_csv = page.with_suffix(".csv")
    first = page.read_text(), groups_csv.read_text()
    assert [first[1].count(f"\n{name},steps,") for name in "abc"] == [1, 1, 1]
    assert run(monkeypatch, *options) == 0
    assert (made, page.read_text(), groups_csv.read_text()) == (["a", "b", "c"], *first)


def test_results_of_other_sources_are_made_anew(tmp_path: Path) -> None:
    source = tmp_path / "design" / "a.py"
    source.parent.mkdir()
    source.write_text("one = 1")
    before = design_kept.sources(tmp_path, ("design",))
    assert before == design_kept.sources(tmp_path, ("design",))
    source.write_text("one = 2")
    after = design_kept.sources(tmp_path, ("design",))
    assert after != before
    design_kept.Kept(tmp_path / "kept.jsonl", {"sources": before}).add(found(1), "a")
    assert design_kept.Kept(tmp_path / "kept.jsonl", {"sources": before}).get("a") is not None
    assert design_kept.Kept(tmp_path / "kept.jsonl", {"sources": after}).get("a") is None
    assert all((design_kept.ROOT / each).exists() for each in design_kept.SOURCES)


def test_a_campaign_that_is_played_back_stays_within_its_gpu_time() -> None:
    (group,) = design_against_grid.groups_of("lammps-lj-v100")
    cells = sorted(group.visits)[:12]
    budget = sum(map(group.cost, cells)) / 3
    seen = design_against_grid.played(group, cells, budget)
    assert seen
    assert set(seen) <= set(cells)
    assert sum(count * group.cost(cell) for cell, count in seen.items()) <= budget
