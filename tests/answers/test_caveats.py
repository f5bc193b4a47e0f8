"""Caveats shown with a forecast."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import gpucast as gc
from gpucast.answers.caveats import caveats, in_line
from gpucast.model.asked import outer
from gpucast.model.fitted import Model
from gpucast.model.values import TimedCells
from gpucast.util.remarks import Kind, remark
from made_data import whole
from other_programs import fitted, md, records


def said(model: Model, n: list[float], gpus: list[int]) -> list[str]:
    """All but doubts about single cells, which tests of these hold."""
    return caveats(model, *(np.asarray(values) for values in outer(n, gpus)), within=None)


def with_quality(**quality: float | bool) -> Model:
    model = md()
    assert model.quality is not None
    return replace(model, quality=replace(model.quality, **quality))


def test_forecasts_of_more_gpus_say_how_well_those_measured_could_be_forecast() -> None:
    model = with_quality(held_out_gpus_error=0.148)
    assert said(model, [96_000], [1, 8]) == [
        "beyond 4 GPUs: forecasts without N = 4 missed it by 15 %"
    ]
    assert said(model, [96_000], [1, 4]) == []


def test_an_error_of_a_nearer_forecast_is_not_passed_off_as_that_of_a_farther_one() -> None:
    """1, 2 and 4 GPUs were timed: 8 are as far beyond 4 as 4 are beyond 2, but 16 are not."""
    model = with_quality(held_out_gpus_error=0.03, held_out_n_error=0.04)
    text = "beyond 4 GPUs: forecasts without N = 4 missed it by 3 %"
    assert said(model, [96_000], [8]) == [text]
    assert said(model, [96_000], [16]) == [f"{text}; N = 16 lies further out"]
    text = "beyond n = 1067000: forecasts without that n missed it by 4 %"
    assert said(model, [2e6], [4]) == [text]
    assert said(model, [3e6], [4]) == [f"{text}; n = 3000000 lies further out"]


def test_what_no_gpu_had_is_said_not_to_have_been_tried() -> None:
    """1,067,000 were timed on 4 GPUs only, so that a GPU had at most 409,000."""
    every = md()
    cells = every.scaling.cells
    rows = zip(cells.n, cells.gpus, cells.seconds, strict=True)
    kept = [(n, gpus, seconds) for n, gpus, seconds in rows if n < 1e6 or gpus == 4]

    class Kept(Model):
        @property
        def fitted_cells(self) -> TimedCells:
            n, gpus, seconds = (list(column) for column in zip(*kept, strict=True))
            return TimedCells(n=n, gpus=gpus, seconds=seconds)

        @property
        def timed(self) -> TimedCells:
            return self.fitted_cells

    model = Kept(**vars_of(every))
    assert model.most_per_gpu == 409_000
    open_ = "no GPU had more than n = 409000; whether its memory holds that was not tried"
    assert said(model, [1_067_000], [1, 2, 4]) == [f"n = 1067000 on 1 GPU: {open_}"]
    assert said(model, [1_067_000], [2, 4]) == [f"n = 1067000 on 2 GPUs: {open_}"]
    assert said(model, [1_067_000], [4]) == []
    assert open_ not in " ".join(said(model, [2e6], [4]))


def test_gpus_of_several_hosts_are_named_where_one_host_alone_was_measured() -> None:
    """At most 4 GPUs were timed; nodes are unknown unless the records state them."""

    def told(model: Model, gpus: list[int], per_host: int | None) -> list[str]:
        n, counts = (np.asarray(values, dtype=float) for values in outer([96_000], gpus))
        return caveats(model, n, counts, per_host=per_host)

    def on(nodes: list[int]) -> Model:
        model = md()
        counts = model.scaling.cells.gpus
        at = dict(zip(sorted(set(counts)), nodes, strict=True))
        cells = replace(model.scaling.cells, nodes=[float(at[count]) for count in counts])
        return replace(model, scaling=replace(model.scaling, cells=cells))

    def text(gpus: int, hosts: int) -> str:
        return (
            f"all measured within one host; {gpus} GPUs take {hosts} hosts: the network between "
            "them was not measured"
        )

    assert told(md(), [1, 8], 4)[0] == text(8, 2)
    assert told(md(), [9], 4)[0] == text(9, 3)
    assert text(8, 2) not in told(md(), [1, 8], 8)
    assert text(8, 2) not in told(md(), [1, 8], None)
    assert text(4, 2) not in told(md(), [4], 2)  # 4 at 2 a host were timed on two
    assert told(on([1, 1, 1]), [4], 2)[0] == text(4, 2)  # the records say: on one
    assert text(8, 2) not in told(on([1, 1, 2]), [8], 4)
    # If the GPUs per host are unknown, more GPUs than were timed on one may take several.
    maybe = "all measured within one host: if 8 GPUs take several, the network between them was "
    assert any(text_.startswith(maybe) for text_ in told(on([1, 1, 1]), [1, 8], None))
    for model, count in ((on([1, 1, 1]), 4), (on([1, 1, 2]), 8), (md(), 8)):
        assert not any("one host" in text_ for text_ in told(model, [count], None))


def test_what_could_not_be_tried_is_said_among_the_rest() -> None:
    model = fitted(records(counts=[1, 2]))
    assert model.quality is not None
    model = replace(model, quality=replace(model.quality, held_out_n_error=0.3))
    assert said(model, [1e6], [1, 2]) == []
    assert said(model, [1e6], [3, 4]) == [
        "beyond 2 GPUs: forecasts could not be tried for want of GPU counts"
    ]
    assert said(model, [2e6], [4])[0].startswith("beyond 2 GPUs")
    sizes = fitted(records(sizes=[24_000, 96_000], counts=[1, 2, 4, 8]))
    assert said(sizes, [1e6], [8]) == [
        "beyond n = 96000: forecasts could not be tried for want of sizes"
    ]
    few = fitted(records(sizes=[96_000], counts=[1, 2, 4]))
    assert said(few, [96_000], [8]) == [
        "beyond 4 GPUs: forecasts could not be tried for want of cells"
    ]


def test_forecasts_of_larger_sizes_say_so_too_and_the_worse_is_first() -> None:
    model = with_quality(held_out_gpus_error=0.02, held_out_n_error=0.3)
    assert said(model, [5e6], [8]) == [
        "beyond n = 1067000: forecasts without that n missed it by 30 %; n = 5000000 lies further "
        "out",
        "beyond 4 GPUs: forecasts without N = 4 missed it by 2 %",
    ]


def test_a_measured_cell_that_the_model_misses_is_named_with_both_times() -> None:
    model = md()
    cells = model.scaling.cells
    at = next(i for i in range(len(cells.n)) if (cells.n[i], cells.gpus[i]) == (24_000, 1))
    seconds = list(cells.seconds)
    forecast = model.forecasts([24_000], [1]).seconds[0]
    seconds[at] = float(forecast / 1.25)

    class Missing(Model):
        @property
        def timed(self) -> TimedCells:
            return TimedCells(n=cells.n, gpus=cells.gpus, seconds=seconds)

    missing = Missing(**vars_of(model))
    (text,) = said(missing, [24_000, 96_000], [1, 2])
    assert text.startswith("n = 24000 on 1 GPU took ")
    assert text.endswith("(+25 %)")
    assert said(missing, [96_000], [1, 2]) == []


@pytest.mark.parametrize(("slower", "is_said"), [(1.0, False), (1.2, False), (3.0, True)])
def test_an_efficiency_that_is_too_high_is_doubted(slower: float, is_said: bool) -> None:
    """The cell of most work on one GPU is slow."""
    n, gpus = np.repeat([1e5, 4e5, 1.6e6], 4), np.tile([1, 2, 4, 8], 3)
    seconds = 0.005 + 1e-6 * n / gpus
    seconds[8] *= slower
    model = gc.fit(pd.DataFrame({"n": n, "gpus": gpus, "seconds": seconds}))
    texts = caveats(model, np.array([1.6e6, 6.4e6]), np.array([2.0, 4.0]))
    assert any("has an efficiency of" in text for text in texts) == is_said


def test_a_fit_that_did_not_converge_comes_first() -> None:
    model = with_quality(converged=False, held_out_gpus_error=0.5)
    assert said(model, [96_000], [8])[0] == "the fit did not converge"


def test_beside_an_answer_stands_the_worst_alone_and_how_many_more_there_are() -> None:
    model = with_quality(held_out_gpus_error=0.02, held_out_n_error=0.3)
    text = in_line(model.name, said(model, [5e6], [8]))
    assert text == (
        "md: beyond n = 1067000: forecasts without that n missed it by 30 %; n = 5000000 lies "
        "further out (and 1 more: --explain)"
    )


def test_where_all_is_well_with_the_cells_nothing_is_said_whatever_the_fit_warned_of() -> None:
    doubts = [kind for kind in Kind if kind != Kind.REHEARSED]
    model = replace(md(), remarks=[remark(kind, "measured on a rehearsed GPU") for kind in doubts])
    assert said(model, [96_000], [2]) == []


def test_a_fit_of_one_size_or_one_count_says_so_beyond_it() -> None:
    model = fitted(records(sizes=[1e6]))
    assert said(model, [1e6], [2]) == []
    assert said(model, [2e6], [2]) == ["n = 1000000 alone was measured: growth with n is a guess"]
    model = fitted(records(counts=[2]))
    assert said(model, [96_000], [4]) == ["beyond 2 GPUs: no other count was measured"]


def test_a_form_that_is_off_beyond_noise_is_said() -> None:
    texts = []
    for form in ("paper", "auto"):
        model = gc.fit(whole(), model=form, replicates=0)
        assert said(model, [8_000], [2]) == []
        off = replace(model, noise=replace(model.noise, between_cells=0.2))
        texts.append(said(off, [8_000], [2]))
    # A mixture follows the times where no form does.
    assert texts == [["the form is off by 20 % beyond noise"], []]


def vars_of(model: Model) -> dict[str, object]:
    return model.__getstate__()


def test_times_that_do_not_grow_with_n_are_said_to_say_nothing_of_larger_ones() -> None:
    model = fitted(records(lambda n, gpus: 1e-3, sizes=[25_000, 50_000, 100_000, 200_000]))
    text = "beyond n = 200000: measured times do not grow with n, so they say nothing of larger n; "
    assert said(model, [4e5], [1, 2])[0] == f"{text}time one"
    assert not any("grow" in line for line in said(model, [1e5], [1, 2]))
    assert not any("grow" in line for line in said(md(), [3e6], [4]))
