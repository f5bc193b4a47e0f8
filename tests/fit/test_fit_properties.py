"""Whatever a user's CSV contains: it is refused with a message, or its forecasts make sense."""

import contextlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpucast as gc
from gpucast.cli import main
from gpucast.model.fitted import Model
from made_data import dataset, machine, step
from records_samples import relaxed

times = st.floats(1e-7, 1e4) | st.floats(1e-30, 1e30)
cells = st.tuples(
    st.integers(1, 200) | st.integers(1, 10**6) | st.just(10**9), st.integers(1, 8)
)  # n, gpus
grids = st.dictionaries(cells, st.lists(times, min_size=1, max_size=3), min_size=1, max_size=12)


# A copy that waits for a kernel sees its end at ticks of 8.192 us. Communication is what a step
# takes beyond the kernel, so what is hidden before the wait (2.5 us) can make it negative, and the
# Fourier series of ticks ripples.
HIDDEN = 2.5e-6
RIPPLE = 0.25e-6


def check(model: Model) -> None:
    own = model.own_program
    mixed = own and model.mixture is not None
    ticks = own and (mixed or model.terms.com.endswith("-poll"))
    n = np.unique(np.round(np.geomspace(1, 1e9, 60)))
    for gpus in (1.0, 2.0, 7.0):
        with contextlib.suppress(gc.InputError):  # a count that the data do not determine
            forecasts = model.forecasts(n, np.full(n.size, gpus))
            for part in (forecasts.t_gpu, forecasts.t_cpu, forecasts.low, forecasts.high):
                assert np.isfinite(part).all()
                assert (part >= 0).all()
            assert np.isfinite(forecasts.t_com).all()
            # In a mixture launches may hide all of the GPUs' work.
            hidden = forecasts.t_gpu if mixed else 0
            assert (forecasts.t_com >= -hidden + (-HIDDEN - RIPPLE if ticks else 0)).all()
            assert (forecasts.seconds > 0).all()
            assert (forecasts.low <= forecasts.seconds).all()
            assert (forecasts.seconds <= forecasts.high).all()
            slack = 1e-9 * forecasts.seconds[:-1] + (RIPPLE if ticks else 0)
            # Forms grow with n; a mixture follows cells that do not, and returns to its forms.
            assert not own or mixed or (np.diff(forecasts.seconds) >= -slack).all()


@pytest.mark.slow
@given(
    grid=grids,
    cores=st.sampled_from([None, 64, 2304]),
    model_name=st.sampled_from(["auto", "paper", "work+linear+star-serial"]),
)
@settings(relaxed, max_examples=40)
def test_forecasts_of_any_grid_are_finite_and_ordered_and_those_of_a_form_monotone(
    grid: dict[tuple[int, int], list[float]], cores: int | None, model_name: str
) -> None:
    records = [step(n, gpus, seconds) for (n, gpus), seconds in grid.items()]
    data = dataset([machine(cores), *records])
    with contextlib.suppress(gc.InputError):
        model = gc.fit(data, model=model_name, replicates=10)
        check(model)
        result = gc.validate(model, data)
        assert 0 <= result["coverage"] <= 1


fields = (
    st.integers(-1, 10**10).map(str)
    | st.floats().map(repr)
    | st.sampled_from(["", "1e3", "0", "nan", "abc", "1,5", '"', "ü"])
)
plain = st.tuples(
    st.integers(1, 10**5).map(str), st.integers(1, 4).map(str), st.floats(1e-6, 1e3).map(repr)
)
rows = st.lists(
    (plain | st.tuples(fields, fields, fields)).map(",".join), min_size=1, max_size=10
) | st.lists(plain.map(",".join), min_size=6, max_size=15)


@pytest.mark.slow
@given(rows=rows, cores=st.sampled_from([[], ["--cores", "2304"]]))
@settings(relaxed, max_examples=60)
def test_from_csv_to_forecast_every_command_answers_or_refuses(
    rows: list[str], cores: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp() / "csv-to-forecast"
    folder.mkdir(exist_ok=True)
    csv, data, model = (str(folder / name) for name in ("s.csv", "d.jsonl", "m.json"))
    Path(csv).write_text("n,gpus,seconds\n" + "\n".join(rows) + "\n", encoding="utf-8")
    for command in (
        ["import", csv, *cores, "-o", data, "--force"],
        ["fit", data, "--replicates", "20", "-o", model, "--force", "--json"],
        ["predict", model, "-n", "1..1e9:20", "--gpus", "1,3", "--json"],
    ):
        status = main(command)  # anything other than an InputError is raised here
        assert status in (0, 2)
        if status != 0:
            return
    check(gc.load_model(model))
