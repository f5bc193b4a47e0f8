"""How designs are judged against the grid, from errors that are made up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import design_against_grid
import design_page
from design_against_grid import Found

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
    page = design_page.text([found(1), found(3), replace(found(9), visited=found(9, 4).visited)])
    assert "Over 2 groups" in page
    assert "in 1 of the groups it is no worse" in page
    assert f"**{3**0.5:.2f} times**" in page
    assert page.count("| table | steps |") == 3


def test_a_campaign_that_is_played_back_stays_within_its_gpu_time() -> None:
    (group,) = design_against_grid.groups_of("lammps-lj-v100")
    cells = sorted(group.visits)[:12]
    budget = sum(map(group.cost, cells)) / 3
    seen = design_against_grid.played(group, cells, budget)
    assert seen
    assert set(seen) <= set(cells)
    assert sum(count * group.cost(cell) for cell, count in seen.items()) <= budget
