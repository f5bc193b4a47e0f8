"""Tables of step times as people bring them: names, units and numbers of many kinds."""

from __future__ import annotations

import csv
import io
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpucast as gc
from gpucast.data.formats import Imported, Options, formats
from gpucast.data.formats.tables.columns import named
from gpucast.data.records import Step
from gpucast.errors import InputError
from gpucast.util.remarks import texts_of
from records_samples import complaint_of, relaxed

TIMESTEP = 2e-15
OPTIONS = Options(machine="m")
CSV = formats()["csv"]


def read(text: str, columns: str | None = None, **options: object) -> Imported:
    given = replace(OPTIONS, columns=named(columns), **options)  # type: ignore[arg-type]
    return CSV.read(text, "t.csv", given)


def steps_of(table: Imported) -> list[Step]:
    return [entry for entry in table.entries if isinstance(entry, Step)]


def steps(text: str, columns: str | None = None, **options: object) -> list[Step]:
    return steps_of(read(text, columns, **options))


def error_of(text: str, columns: str | None = None, **options: object) -> str:
    with pytest.raises(InputError) as caught:
        read(text, columns, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# ---------------------------------------------------------------- Markdown ----

README = """# A solver

Fast, and runs on 2, 4, or more GPUs.

## GPU scaling: N = 20,000^2, 1000 steps

| GPUs | Nodes | Time | GFLOP/s | **Speedup** | Field per GPU |
|---:|---:|---:|---:|---:|---:|
| 4 | 1 | 6.695 s | 299 | 1.25x | 1.49 GiB |
| **8** | 2 | **4.025 s** | 497 | 1.66x | 0.75 GiB |

Time falls, but not as fast as GPUs are added, one after the other.
"""
"""Tables as in READMEs of programs."""


def test_a_table_in_a_readme_ends_where_its_text_goes_on() -> None:
    expected = [(4, 1, [6.695e-3]), (8, 2, [4.025e-3])]
    for above in "", "Words of no table, and more of them.\n" * 100:
        records = steps(above + README, size=4e8, steps=1000)
        assert [(step.gpus, step.nodes, step.seconds) for step in records] == expected


def test_times_below_a_title_that_speaks_of_steps_are_asked_about() -> None:
    message = error_of(README, size=4e8)
    assert "Time: may be the time of a step or of the 1000 steps" in message
    assert "--columns seconds=Time:s/step for one step, with --steps 1000 for all" in message
    of_one = steps(README, "seconds=Time:s/step", size=4e8)
    assert [step.seconds for step in of_one] == [[6.695], [4.025]]
    per_step = README.replace("| Time ", "| Time per step ")
    assert steps(per_step.replace(" s ", " "), "seconds=Time per step:s", size=4e8)


def test_a_second_table_in_a_readme_is_not_read_over() -> None:
    both = README + "\n## CPUs\n\n| GPUs | n | ms |\n|--|--|--|\n| 1 | 2 | 3 |\n"
    assert error_of(both, size=4e8, steps=1000).startswith("t.csv:16: another table begins here")
    other = README + "\n| option | meaning |\n|--|--|\n| -g | GPUs |\n"
    assert len(steps(other, size=4e8, steps=1000)) == 2


def test_a_row_of_markdown_with_a_cell_too_few_is_refused() -> None:
    text = "| GPUs | n | ms |\n|--|--|--|\n| 1 | 2 |\n"
    assert error_of(text) == "t.csv:3: has 2 fields where the header has 3"
    (step,) = steps("| GPUs | n | ms |\n|--|--|--|\n| 1 | 2 | 3\n")  # nor a stroke at its end
    assert step.seconds == [0.003]


# ----------------------------------------------------------------- headers ----


@pytest.mark.parametrize(
    "above",
    ["\n\n", "Benchmarks of May, 2024\n\n", "Our cluster,,\n,,\n", "n GPUs, sizes\n# new\n"],
    ids=["blank lines", "title", "cells of a spreadsheet", "words of headers"],
)
def test_a_header_may_stand_below_a_title(above: str) -> None:
    text = above + "atoms,gpus,ms/step\n24000,2,0.5\n"
    assert CSV.detect(text)
    (step,) = steps(text)
    assert (step.n, step.gpus, step.seconds) == (24000, 2, [5e-4])


def test_a_header_may_begin_like_a_comment() -> None:
    text = "Our cluster\n# 4 nodes, gpus idle\n# GPUs,atoms,ms/step\n2,24000,0.5\n"
    assert CSV.detect(text)
    (step,) = steps(text)
    assert (step.n, step.gpus, step.seconds) == (24000, 2, [5e-4])
    # Only the header counts, not its like in a comment.
    assert steps("# n,gpus,ms\nn,gpus,us\n24000,2,0.5\n")[0].seconds == [5e-7]


def test_errors_below_a_title_name_the_line_of_the_file() -> None:
    text = "Our cluster\n\natoms,gpus,ms/step\n24000,2,half\n"
    assert "t.csv:4: ms/step: 'half' is not a number" in error_of(text)
    assert "t.csv:3: columns 'n', 'gpus' and 'seconds' are missing" in error_of(
        "Our cluster\n\nfoo,bar\n1,2\n"
    )


ACROSS = "24000,0.5,0.25,0.2\n96000,2,1,\n"
CELLS = [(24000, 1, 5e-4), (24000, 2, 2.5e-4), (24000, 4, 2e-4), (96000, 1, 2e-3), (96000, 2, 1e-3)]


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        ("Step time (ms)\natoms,1 GPU,2 GPUs,4 GPUs\n", None),
        ("Times in ms\n\natoms,1,2,4\n", None),
        ("atoms (ms),N=1,N=2,N=4\n", None),
        ("atoms / GPUs [ms],1,2,4\n", None),
        ("atoms,1 GPU (ms),2 GPU (ms),4 GPU (ms)\n", None),
        ("atoms,1x GPU,2x GPU,4x GPU\n", "seconds=*:ms"),
        ("ms,1,2,4\n", "n=ms"),
        ("system,1 GPU,2 GPU,4 GPU\n", "n=system,time=*:ms"),
    ],
)
def test_gpu_counts_may_stand_across(header: str, columns: str | None) -> None:
    table = read(header + ACROSS, columns)
    cells = [(e.n, e.gpus, *e.seconds) for e in steps_of(table)]
    assert cells == CELLS
    assert table.notes[0] == "GPU counts across: 1, 2, 4, times in ms"
    assert table.notes[-1] == "1 row without a time left out"
    assert CSV.detect(header + ACROSS) or columns


def test_rates_may_stand_across_and_need_what_rates_need() -> None:
    text = "atoms (ns/day),1 GPU,2 GPU\n24000,86.4,172.8\n"
    assert [step.seconds for step in steps(text, timestep=TIMESTEP)] == [[2e-3], [1e-3]]
    assert "'time (ns/day)' needs the simulated time of a step" in error_of(text)


def test_bare_numbers_from_one_on_may_be_repetitions() -> None:
    text = "atoms,1,2,3\n" + ACROSS
    asked = "t.csv:1: columns 1, 2, 3 may be GPU counts or repetitions; if they are GPU counts, "
    assert asked + "import with --columns gpus=*" in error_of(text, "seconds=*:ms")
    assert [step.gpus for step in steps(text, "gpus=*,seconds=*:ms")] == [1, 2, 3, 1, 2]
    # Next to columns of counts they are not counts.
    assert "column 'seconds' is missing" in error_of("atoms,gpus,1,2,3\n24000,1,5,5,5\n")


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        ("atoms,1,2,4\n", None, "the unit of the times below 1, 2, 4 is not stated; import with"),
        ("atoms,1 GPU (ms),2 GPU (us),4\n", None, "is ms or us; import with --columns seconds=*"),
        ("atoms,1,2,4\n", "seconds=*", "--columns: seconds=* needs a unit: seconds=*:ms"),
        (",1 GPU,2 GPU,4 GPU\n", "seconds=*:s", "write n, atoms, cells or the like above them"),
        ("foo,1 GPU,2 GPU,4 GPU\n", "seconds=*:s", "if foo is the size, import with --columns n="),
        ("n,1,2,4\n24000,400,.5.,\n", "seconds=*:ms", "t.csv:2: time (ms): '.5.' is not a number"),
        (
            "n (s),1,2,4\n1,4e3,4e3,4e3\n2,4e3,4e3,4e3\n",
            None,
            "import with --columns seconds=*:s; if",
        ),
    ],
)
def test_what_is_not_clear_of_counts_across_is_asked(
    text: str, columns: str | None, message: str
) -> None:
    assert message in error_of(text + ACROSS, columns)


def test_a_data_frame_may_have_counts_across() -> None:
    frame = pandas.DataFrame({"atoms": [24000], 1: [0.5], 2: [0.25], 4: [0.2]})
    data = gc.read(frame, columns="seconds=*:ms")
    assert [(step.gpus, step.seconds) for step in data.steps] == [
        (1, [5e-4]), (2, [2.5e-4]), (4, [2e-4]),
    ]  # fmt: skip


def case(text: str, columns: str | None = None, *, given: Any = (), **told: Any) -> Any:
    """A table, the user's options, and fields of its steps: lists if there are several."""
    return text, columns, dict(given), told


_BLANK = "atoms;GPUs;ms/step;case\n500;1;10;a\n;2;6;\n2000;1;40;b\n;2;22;\n"
TAKEN: dict[str, Any] = {
    "commas within quotes set thousands apart": case(
        'atoms,gpus,ms\n"557,419",1,"1,557.5"\n', n=557_419, seconds=1.5575
    ),
    "commas within quotes set thousands apart in whole numbers": case(
        'atoms,gpus,ms\n"557,419",1,"1,557"\n', n=557_419, seconds=1.557
    ),
    "labels and counts are kept": case(
        "program,case,machine,n,gpus,nodes,ranks,s\nA 1,PME,box,1,8,2,16,1\nB,PME,pc,1,1,1,,1\n",
        program=["A 1", "B"], case=["PME", "PME"], machine=["box", "pc"], nodes=[2, 1],
        ranks=[16, None],
    ),
    "the table wins over what is said beside it": case(
        "program,n,gpus,s\nA,1,1,1\n,2,1,1\n", given={"program": "P", "case": "C", "unit": "beads"},
        program=["A", "P"], case=["C", "C"], unit=["beads", "beads"],
    ),
    "gpus are nodes times gpus a node": case(
        "n,nodes,gpus_per_node,s\n1,3,4,1\n", gpus=12, nodes=3
    ),
    "gpus of all nodes are not asked about": case(
        "n,nodes,gpus,s\n1,1,4,2\n1,2,8,1\n", gpus=[4, 8]
    ),
    "sizes may have the same gpus of all nodes": case(
        "n,nodes,gpus,s\n1,2,4,2\n2,2,4,1\n", gpus=[4, 4]
    ),
    "what no column says may be said beside the table": case(
        "seconds,run\n1,1\n", "seconds=seconds", given={"size": 1000, "gpus": 4}, n=1000, gpus=4
    ),
    "times go before rates": case("n,gpus,ns/day,steps/s,ms/step\n1,1,86.4,490,2\n", seconds=2e-3),
    "rates of steps go before rates of work": case(
        "n,gpus,samples/s,steps/s\n1,1,4.1,4\n", seconds=0.25
    ),
    "what is said of sizes goes before what their name says": case(
        "gpus,atoms [k],seconds\n2,24,0.5\n", "n=atoms [k]:M", n=24e6, unit="atoms"
    ),
    "a factor in the name of a column named by hand counts": case(
        "gpus,Load (x1e6),seconds\n2,24,0.5\n", "n=Load (x1e6)", n=24e6
    ),
    "where both are of each gpu the time of a step is their ratio": case(
        "GPUs,Batch size per GPU,img/s/GPU\n8,128,450\n", n=1024, seconds=128 / 450
    ),
    "what is of each rank is added up over the ranks": case(
        "gpus,ranks,cells per rank,s\n2,8,1000,1\n", n=8000
    ),
    "ranks that nobody states are the gpus": case("gpus,cells per rank,s\n2,1000,1\n", n=2000),
    "the stroke of a corner is not one of each gpu": case(
        f"atoms / GPU [ms],1,2,4\n{ACROSS}", n=[24000] * 3 + [96000] * 2
    ),
    "columns named by hand are taken with their unit": case(
        "Size;Devices;Run\n24;2;310\n", "n=Size,gpus=Devices,seconds=Run:us", n=24, gpus=2,
        seconds=0.00031,
    ),
    "rates named by hand are taken with the unit of their name": case(
        "Size;Devices;ns/day\n24;2;310\n", "rate=ns/day,n=size:k,gpus=Devices", n=24000,
        given={"timestep": TIMESTEP}, seconds=TIMESTEP * 86400 / 310e-9,
    ),
    "a column named by hand wins over better names": case(
        "n,gpus,ranks,seconds,total\n1,1,8,5,3\n", "gpus=ranks,seconds=total:ms", gpus=8,
        seconds=0.003,
    ),
    "blanks may mean the value above": case(
        _BLANK, "n=atoms:k down,case=case:down", n=[500e3, 500e3, 2000e3, 2000e3],
        gpus=[1, 2, 1, 2], case=["a", "a", "b", "b"],
    ),
    "blanks may mean the value above in one column": case(
        _BLANK, "n=atoms:down", n=[500, 500, 2000, 2000]
    ),
    "jobs of minutes are steps that nobody asks about": case(
        "n,gpus,time\n1,1,200\n1,2,110\n", seconds=[200, 110]
    ),
    "a column beside the times that cannot be read stops nobody": case(
        "n,gpus,ms/step,steps/s\n1,1,2,fast\n1,2,1,\n1,4,0.5,2000\n", gpus=[1, 2, 4]
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "columns", "given", "told"), TAKEN.values(), ids=TAKEN)
def test_a_table_is_read(
    text: str, columns: str | None, given: dict[str, Any], told: dict[str, Any]
) -> None:
    records = steps(text, columns, **given)
    for field, expected in told.items():
        values = [getattr(step, field) for step in records]
        flat = [value[0] if isinstance(value, list) else value for value in values]
        wanted = expected if isinstance(expected, list) else [expected]
        assert flat == (pytest.approx(wanted) if field == "seconds" else wanted)


def test_a_blank_with_no_value_above_it_is_missing() -> None:
    assert "atoms: missing" in error_of("atoms,GPUs,s\n,1,1\n", "n=atoms:down")


# ------------------------------------------------------------------- names ----


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("n", None), ("N", None), ("atoms", "atoms"), ("N_atoms", "atoms"), ("natoms", "atoms"),
        ("# atoms", "atoms"), ("number of particles", "particles"), ("Cells", "cells"),
        ("n (cells)", "cells"), ("size", None), ("Problem size", None), ("batch_size", None),
        ("basis functions", "basis functions"), ("n [k]", None),
    ],
)  # fmt: skip
def test_a_column_of_sizes_is_known_by_its_usual_names(name: str, unit: str | None) -> None:
    (step,) = steps(f"gpus,{name},seconds\n2,24,0.5\n")
    assert (step.n, step.unit) == (24000 if name == "n [k]" else 24, unit)


@pytest.mark.parametrize(
    "name",
    [
        "gpus", "GPUs", "n_gpus", "num GPUs", "devices", "GCDs", "gpu", "No. of GPUs", "nGPU",
        "GPUs used", "# GPUs", "#GPUs", "Nr. of GPUs", "num_gpu", "Total GPUs", "No. GPUs",
        "GPU count", "Number of GPUs used", "#GPU",
    ],
)  # fmt: skip
def test_a_column_of_gpu_counts_is_known_by_its_usual_names(name: str) -> None:
    (step,) = steps(f"n,{name},seconds\n24,2,0.5\n")
    assert step.gpus == 2


@pytest.mark.parametrize(
    ("name", "value", "seconds"),
    [
        ("seconds", "2", 2.0), ("s/step", "2", 2.0), ("time", "2", 2.0), ("Time (ms)", "2", 2e-3),
        ("step_time_ms", "2", 2e-3), ("ms per step", "2", 2e-3), ("µs/step", "2", 2e-6),
        ("us", "2", 2e-6), ("median_us", "2", 2e-6), ("steps/s", "4", 0.25), ("it/s", "4", 0.25),
        ("timesteps/s", "4", 0.25), ("samples/s", "200", 0.5), ("images/sec", "200", 0.5),
        ("img/s", "200", 0.5), ("imgs/sec", "200", 0.5), ("s/it", "2", 2.0), ("sec/iter", "2", 2.0),
        ("it/sec", "4", 0.25), ("iterations per second", "4", 0.25),
        ("Throughput [img/s]", "200", 0.5),
        ("throughput (tokens/s)", "200", 0.5), ("Matom-step/s", "0.0002", 0.5),
        ("MLUPS", "0.0002", 0.5), ("steps/hour", "3600", 1.0),
        ("ns/day", "86.4", TIMESTEP * 86400 / 86.4e-9), ("ns_per_day", "86.4", 2e-3),
        ("Performance (ns/day)", "86.4", 2e-3), ("us/day", "0.0864", 2e-3),
        ("hours/ns", "0.5", 0.5 * 3600 * TIMESTEP / 1e-9), ("days/ns", "2", 2 * 86400 * 2e-6),
    ],
)  # fmt: skip
def test_a_column_of_times_is_known_by_its_unit(name: str, value: str, seconds: float) -> None:
    (step,) = steps(f"n,gpus,{name}\n100,2,{value}\n", timestep=TIMESTEP)
    assert step.seconds == [pytest.approx(seconds, rel=1e-12)]


@pytest.mark.parametrize("name", ["dt (fs)", "timestep_fs", "time step [fs]"])
def test_the_time_step_may_be_a_column(name: str) -> None:
    first, second = steps(f"n,gpus,ns/day,{name}\n100,2,86.4,2\n100,2,86.4,4\n")
    assert (first.timestep, second.timestep) == (2e-15, 4e-15)
    assert second.seconds == [pytest.approx(2 * first.seconds[0])]


def test_machines_named_by_the_gpus_used_are_one() -> None:
    rows = "machine,n,gpus,s\n1 x V100,1,1,4\n2 x V100,1,2,2\n4 x V100,1,4,1\n"
    assert {step.machine for step in steps(rows)} == {"4 x V100"}
    other = "machine,n,gpus,s\nV100,1,1,4\nA100,1,2,2\n"
    assert [step.machine for step in steps(other)] == ["V100", "A100"]
    models = "n,gpus,GPU type,s\n1,1,A40,4\n1,2,A100,1\n"
    assert [step.machine for step in steps(models)] == ["m, A40", "m, A100"]
    hosts = "machine,n,gpus,s\n1 node,1,4,4\n2 nodes,1,8,2\n3 nodes,1,12,1\n"
    assert len({step.machine for step in steps(hosts.replace("nodes", "node"))}) == 1
    mixed = "machine,n,gpus,s\nA1,1,1,4\nA2,1,1,3\nA2,1,2,2\n"
    assert [step.machine for step in steps(mixed)] == ["A1", "A2", "A2"]


def test_prose_and_numbers_of_runs_are_left_out_without_a_word() -> None:
    table = read("n,gpus,seconds,run,notes,log\n1,1,1,1,x,a.log\n1,1,2,2,y,b.log\n")
    assert table.notes == []
    assert [step.seconds for step in steps_of(table)] == [[1, 2]]


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("atoms [10^6]", "atoms"), ("atoms (x1e6)", "atoms"), ("System size [M atoms]", "atoms"),
        ("size [Matoms]", "atoms"), ("size [millions]", None), ("n in millions", None),
        ("atoms in millions", "atoms"), ("atoms (in millions)", "atoms"), ("cells / 1e6", "cells"),
        ("10^6 atoms", "atoms"), ("Million atoms", "atoms"), ("# Matoms", "atoms"),
        ("atoms (×10⁶)", "atoms"), ("atoms (1000000)", "atoms"), ("cells (10**6)", "cells"),
        ("n (million cells)", "cells"), ("Atome (Mio.)", "atoms"), ("atoms, millions", "atoms"),
    ],
)  # fmt: skip
def test_the_factor_in_a_name_of_sizes_counts(name: str, unit: str | None) -> None:
    table = read(f"gpus;{name};seconds\n2;2.3;0.5\n")
    (step,) = steps_of(table)
    assert (step.n, step.unit) == (2_300_000, unit)
    assert "(times 1e+06)" in table.notes[0]


@pytest.mark.parametrize(
    ("names", "n"),
    [
        ("size [k atoms]|atoms in thousands|atoms [10^3]|katoms", 24_000),
        ("atoms (NVE)|n (total)|size [-]|atoms (box 2)", 24),
    ],
    ids=["thousands", "other words"],
)
def test_thousands_are_a_factor_too_and_other_words_are_none(names: str, n: float) -> None:
    for name in names.split("|"):
        assert steps(f"gpus,{name},seconds\n2,24,0.5\n")[0].n == n


@pytest.mark.parametrize(
    ("said", "n"),
    [("1e6", 24e6), ("10^6", 24e6), ("x1000", 24e3), ("M", 24e6), ("thousands", 24e3),
     ("M cells", 24e6), ("cells", 24), ("k/GPU", 48e3)],
)  # fmt: skip
def test_a_factor_of_sizes_may_be_said(said: str, n: float) -> None:
    (step,) = steps("gpus,Load,seconds\n2,24,0.5\n", f"n=Load:{said}")
    assert step.n == n


# ------------------------------------------------------- sizes of each GPU ----

# 8 GPUs do 3600 samples a second; of batches of 128 each that is 1024 / 3600 s.
BATCHES = "1,128,500\n8,128,3600\n"
OF_EACH = [(128, 0.256), (1024, 1024 / 3600)]


@pytest.mark.parametrize(
    "name",
    [
        "Batch size per GPU", "batch/GPU", "per-GPU batch", "Batch (per GPU)", "local batch",
        "micro batch per GPU", "per_device_train_batch_size", "device batch size",
        "batch size per device", "Batch per rank", "mini-batch per process", "samples per GPU",
    ],
)  # fmt: skip
def test_a_size_of_each_gpu_is_added_up(name: str) -> None:
    table = read(f"GPUs,{name},samples/s\n{BATCHES}")
    cells = [(e.n, *e.seconds) for e in steps_of(table)]
    assert cells == OF_EACH
    assert table.notes[0].startswith(f"n is {name!r} times the ")
    assert "throughput 'samples/s' taken as that of all" in table.notes[0]
    by_hand = steps(f"GPUs,{name},samples/s\n{BATCHES}", f"n={name}")
    assert [(step.n, *step.seconds) for step in by_hand] == OF_EACH


@pytest.mark.parametrize("of_each", ["per-GPU", "/GPU", "per device"])
def test_that_a_size_is_of_each_gpu_may_be_said(of_each: str) -> None:
    records = steps(f"GPUs,Input,samples/s\n{BATCHES}", f"n=Input:{of_each}")
    assert [(step.n, *step.seconds) for step in records] == OF_EACH


@pytest.mark.parametrize(
    "name", ["img/s/GPU", "images/s per GPU", "tokens/GPU/s", "Throughput per GPU (img/s)",
             "throughput [img/s/gpu]"]
)  # fmt: skip
def test_a_throughput_of_each_gpu_is_added_up(name: str) -> None:
    # 2 GPUs do 50 a second each: 200 of them take 2 s.
    counted = "n=Global batch:tokens" if "tokens" in name else None
    table = read(f"GPUs,Global batch,{name}\n2,200,50\n", counted)
    (step,) = steps_of(table)
    assert (step.n, step.seconds) == (200, [2.0])
    assert table.notes[0] == f"throughput is {name!r} times the GPUs"
    (step,) = steps("GPUs,Global batch,Speed\n2,200,50\n", "seconds=Speed:img/s/GPU")
    assert step.seconds == [2.0]


def test_a_unit_stated_of_a_rate_of_each_gpu_leaves_it_that_of_each() -> None:
    # As in MosaicML's llm-foundry: 2 GPUs do 50 a second each.
    (step,) = steps("# GPUs,n,Throughput (T/s/GPU)\n2,200,50\n",
                    "seconds=Throughput (T/s/GPU):tokens/s")  # fmt: skip
    assert step.seconds == [2.0]


def test_a_batch_beside_tokens_a_second_is_asked_about() -> None:
    text = "gpus,batch,tokens/s\n1,20,771\n"
    assert "n=batch:tokens if it counts tokens" in error_of(text)
    (step,) = steps(text, "n=batch:tokens")
    assert step.seconds == [pytest.approx(20 / 771)]


def test_sequences_of_a_batch_have_as_many_tokens_as_is_said() -> None:
    text = "gpus,batch per GPU,sequence length,tokens/s\n2,3,512,1024\n4,3,512,2048\n"
    assert "n='batch per GPU':'512 tokens' where each has 512 tokens" in error_of(text)
    records = steps(text, "n=batch per GPU:512 tokens")
    assert [(step.n, step.seconds, step.unit) for step in records] == [
        (2 * 3 * 512, [3.0], "tokens"), (4 * 3 * 512, [3.0], "tokens")
    ]  # fmt: skip


def test_nodes_and_a_time_under_a_name_of_several_words_are_a_table() -> None:
    text = "grid,nodes,run,time per step [s]\nR02B04,1,1,0.5\nR02B04,2,1,0.25\n"
    assert "gpus=nodes*4" in error_of(text)
    records = steps(text, gpus_per_node=4)
    assert [(step.n, step.gpus, step.seconds) for step in records] == [
        (20480, 4, [0.5]), (20480, 8, [0.25])
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["Performance per GPU [ns/day]", "steps/s/GPU", "ns/day/GPU"])
def test_what_does_not_add_up_over_gpus_is_no_time(name: str) -> None:
    message = error_of(f"GPUs,atoms,{name}\n2,200,50\n", timestep=TIMESTEP)
    assert "column 'seconds' is missing" in message


def test_a_size_of_all_gpus_goes_before_one_of_each() -> None:
    table = read("GPUs,Batch size per GPU,Global batch,s/it\n8,128,1024,1\n")
    (step,) = steps_of(table)
    assert step.n == 1024
    assert table.notes[-1] == "1 column not used: 'Batch size per GPU'"


def test_of_a_batch_that_may_be_either_is_said_how_it_was_taken() -> None:
    table = read("GPUs,batch size,img/s\n8,128,3600\n")
    (step,) = steps_of(table)
    assert (step.n, step.seconds) == (128, [128 / 3600])
    assert table.notes[0] == (
        "n is 'batch size', taken as that of all GPUs together; if it is of each, import with "
        "--columns n='batch size':per-GPU; throughput 'img/s' taken as that of all GPUs"
    )
    assert not any("taken as" in value for value in read("GPUs,atoms,s\n8,128,3\n").notes)


# ---------------------------------------------------------- columns by hand ----


@pytest.mark.parametrize("column", ["ns/jour", "ms/pas"])
def test_a_unit_in_another_language_is_asked_for(column: str) -> None:
    text = f"n;gpus;{column}\n24;2;310\n"
    with pytest.raises(InputError, match=f"unit of '{column}' is unknown"):
        steps(text, f"seconds={column}")
    (step,) = steps(text, f"seconds={column}:ms")
    assert step.seconds == [0.31]


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("n=atom", "t.csv:1: --columns: there is no column 'atom' (meant atoms?); there are: "),
        ("size=atoms", "--columns: 'size' is unknown; it is one of n, gpus, seconds, timestep, "),
        ("n", "--columns: n needs a column: n=COLUMN or n=COLUMN:UNIT"),
        ("seconds=t,time=t", "--columns: seconds is named twice"),
        ("seconds=t:furlongs", "--columns: 'furlongs' is not a unit of step times such as s, ms"),
        ("gpus=gpus:k", "--columns: gpus has no unit"),
        ("n=atoms:bananas", "--columns: 'bananas' is not a unit of sizes: a factor such as k, "),
        ("n=atoms:0.5", "--columns: '0.5' is not a unit of sizes: a factor such as k, M or 1e6"),
        ("seconds=t:down", "--columns: seconds cannot be filled down: a time belongs to one row"),
        ("timestep=t", "--columns: timestep needs a unit: timestep=t:fs"),
    ],
)
def test_what_is_said_wrongly_is_named(said: str, message: str) -> None:
    assert error_of("atoms,gpus,t\n1,1,1\n", said).startswith(message)


@pytest.mark.parametrize(
    "header",
    ["Atome;GPUs;ms/Schritt", "Anzahl Atome;Anzahl GPUs;Zeit (ms)", "Teilchen;GPUs;ms pro Schritt"],
)
def test_a_header_in_german_is_read(header: str) -> None:
    (step,) = steps(f"{header}\n24.000;2;0,310\n")
    assert (step.n, step.gpus, step.seconds) == (24000, 2, [pytest.approx(310e-6)])
    assert step.unit in ("atoms", "particles")


def test_rates_in_german_need_the_time_of_a_step_as_in_english() -> None:
    with pytest.raises(InputError, match="'ns/Tag' needs the simulated time of a step"):
        gc.read(pandas.DataFrame({"Größe": [1000], "GPUs": [1], "ns/Tag": [86.4]}))


def test_python_is_told_how_to_name_columns_in_python() -> None:
    frame = pandas.DataFrame({"foo": [1000], "GPUs": [1], "s": [1.0]})
    with pytest.raises(InputError) as caught:
        gc.fit(frame)
    assert str(caught.value) == (
        "DataFrame: column 'n' is missing (usual names: n, atoms, particles, cells, size); if it "
        "has another, read it with gc.read(frame, columns={'n': 'COLUMN'})"
    )
    assert gc.read(frame, columns={"n": "foo"}).steps[0].n == 1000


# ------------------------------------------------------------------ refusals ----


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "atoms,gpus\n1,1\n",
            "t.csv:1: column 'seconds' is missing (usual names: seconds, ms/step, ns/day, "
            "steps/s); if it has another, import with --columns seconds=COLUMN:UNIT",
        ),
        (
            "who,gpus\n1,1\n",
            "t.csv:1: columns 'n' and 'seconds' are missing (usual names: n, atoms, particles, "
            "cells, size; seconds, ms/step, ns/day, steps/s); if they have others, import with "
            "--columns n=COLUMN,seconds=COLUMN:UNIT",
        ),
        (
            "n,ranks,s\n1,1,1\n",
            "t.csv:1: column 'gpus' is missing (usual names: gpus, devices); if it has another, "
            "import with --columns gpus=ranks where each rank has a GPU of its own",
        ),
        (
            "atoms,cells,gpus,s\n1,1,1,1\n",
            "t.csv:1: columns 'atoms' and 'cells' both hold n; import with --columns n=atoms",
        ),
        (
            "n,gpus,mean_ms,median_ms\n1,1,1,1\n",
            "t.csv:1: columns 'mean_ms' and 'median_ms' both hold seconds; import with "
            "--columns seconds=mean_ms",
        ),
        ("n,gpus,ns/day\n1,1,1\n", "t.csv:1: 'ns/day' needs the simulated time of a step; "
         "import with --timestep 2fs"),
        ("atoms,GPUs,ms/step\n1,two,1\n", "t.csv:2: GPUs: 'two' is not a number"),
        ("atoms,GPUs,ms/step\n1,1.5,1\n", "t.csv:2: GPUs: must be an integer, got '1.5'"),
        ("atoms,GPUs,ms/step\n1,1,1\n,2,1\n", "t.csv:3: atoms: missing; if a blank means the "
         "value above it, import with --columns n=atoms:down"),
        ("atoms,GPUs,ms/step\n2e+18,1,1\n", "t.csv:2: atoms: must be at most 1e+18, got "),
        ("n,gpus,steps/s\n1,1,0\n", "t.csv:2: steps/s: must be greater than 0, got 0"),
        ("gpus,k-points,seconds\n2,24,0.5\n", "t.csv:1: column 'n' is missing"),  # they are points
        ("n,gpus,wall time (s)\n1000,1,50\n", "t.csv:1: column 'seconds' is missing"),
        ("n,gpus,ms\n1000,1,4\n1000,2,half\n",
         "t.csv:3: ms: 'half' is not a number; leave the cell empty if a run has no time"),
        ("atoms gpus ms\n24000 1 4\n24000 2\n",
         "t.csv:3: has 2 fields where the header has 3; separate columns by at least two blanks"),
        ("n;gpus;s\n1;1;0.5\n1;2;0,5\n", "t.csv:3: '0,5' contradicts '0.5' in line 2: "
         "decimals have either points or commas"),
    ],
)  # fmt: skip
def test_a_wrong_table_is_refused_in_the_words_of_its_header(text: str, message: str) -> None:
    assert error_of(text).startswith(message)


def test_steps_of_five_minutes_are_asked_about() -> None:
    message = error_of("n,gpus,time\n1,1,310\n1,2,407\n1,4,200\n")
    assert message == (
        "t.csv:1: time: the median step takes 310 s; if that is right, import with --columns "
        "seconds=time:s; if these are milliseconds, with --columns seconds=time:ms; if "
        "microseconds, with --columns seconds=time:us"
    )
    assert steps("n,gpus,time\n1,1,310\n", "seconds=time:s")[0].seconds == [310]
    assert steps("n,gpus,time\n1,1,310\n", "seconds=time:us")[0].seconds == [0.00031]


def test_durations_of_slurm_are_seconds() -> None:
    text = "JobName|atoms|gpus|Elapsed\na|1000|1|1-03:12:44\nb|1000|2|03:12:44.5\n"
    records = steps(text, "seconds=Elapsed:s")
    # A day and 3 h 12 min 44 s are 86400 + 10800 + 720 + 44 s.
    assert [step.seconds for step in records] == [[97964], [11564.5]]
    assert "'03:12' is not a number" in error_of("n,gpus,s\n1,1,03:12\n")
    assert "'0:00:04' is not a number" in error_of("n,gpus,steps/s\n1,1,0:00:04\n")
    assert "must be greater than 0" in error_of("n,gpus,s\n1,1,00:00:00\n")


@pytest.mark.parametrize(
    ("name", "cell", "seconds"),
    [
        ("ms", "12.5 ms", 0.0125), ("ms", "12.5ms/step", 0.0125), ("ms", "3 s", 3),
        ("time", "310 µs", 310e-6), ("time (h)", "1:30:00", 5400), ("time (h)", "1.5", 5400),
        ("time (s)", "70:10.5", 4210.5), ("time (min)", "2 min", 120),
        ("steps/s", "4 steps/s", 0.25),
    ],
)  # fmt: skip
def test_what_a_cell_says_of_its_unit_goes_before_the_heading(
    name: str, cell: str, seconds: float
) -> None:
    given = f"seconds={name}:{name.partition('(')[2][:-1] or name}" if "(" in name else None
    (step,) = steps(f"n,gpus,{name}\n1000,1,{cell}\n", given)
    assert step.seconds == [pytest.approx(seconds)]
    if "." in cell and name != "time (s)":
        comma = f"n;gpus;{name}\n1000;1;{cell.replace('.', ',')}\n"
        assert steps(comma, given)[0].seconds == [pytest.approx(seconds)]


@pytest.mark.parametrize(
    ("name", "cell"),
    [("steps/s", "4 ms"), ("ms", "4 samples/s"), ("ns/day", "3 h"), ("s", "70:10")],
)
def test_a_unit_of_another_kind_is_no_number(name: str, cell: str) -> None:
    text = f"n,gpus,{name}\n1000,1,{cell}\n"
    assert f"{cell!r} is not a number" in error_of(text, timestep=TIMESTEP)


def test_jobs_that_did_not_complete_have_no_time() -> None:
    text = (
        "n,gpus,s,State\n1,1,00:00:08,COMPLETED\n1,2,00:00:05,COMPLETED\n1,4,00:00:01,FAILED\n"
        "1,8,00:00:02,CANCELLED by 1000\n1,16,00:00:02,FAILED\n"
    )
    table = read(text)
    assert [e.gpus for e in steps_of(table)] == [1, 2]
    assert table.notes[:1] == ["rows of jobs that did not complete left out: 2 FAILED, 1 CANCELLED"]
    assert "no row has a time" in error_of("n,gpus,s,State\n1,1,3,TIMEOUT\n")
    # A state of another kind says nothing about jobs.
    assert len(steps("n,gpus,s,state\n1,1,3,liquid\n1,2,2,solid\n")) == 2


@pytest.mark.parametrize(
    ("name", "well", "failed"),
    [
        ("exit_code", ["0", "0:0", "0.0"], ["1", "137", "-9", "1:0", "0:9", "timeout"]),
        ("returncode", ["0"], ["2"]),
        ("success", ["True", "yes", "1"], ["False", "no", "0"]),
        ("valid", ["1", "true", "ok"], ["0", "failed"]),
        ("result", ["PASS", "0.93", "ok"], ["FAIL", "FAILED (137)"]),
        ("State", ["CD", "COMPLETED", "Fluid"], ["F", "TO", "OOM", "CA", "NF", "PR", "CA by 1000"]),
    ],
)
def test_runs_that_failed_are_left_out_and_said(
    name: str, well: list[str], failed: list[str]
) -> None:
    cells = [*well, "", *failed]
    text = f"n,gpus,s,{name}\n" + "".join(f"1,{i},2,{cell}\n" for i, cell in enumerate(cells, 1))
    table = read(text)
    assert len(table.entries) == len(well) + 1
    (left_out,) = (
        note for note in table.notes if note.startswith("rows of jobs that did not complete")
    )
    assert failed[0] in left_out


def test_any_column_of_how_a_run_ended_tells_that_it_failed() -> None:
    text = "n,gpus,s,State,ExitCode,success\n1,1,2,CD,0:0,1\n1,2,2,CD,1:0,1\n1,4,2,CD,0:0,0\n"
    table = read(text)
    assert [step.gpus for step in steps_of(table)] == [1]
    assert "left out: 1 exit_code 1:0, 1 success 0" in table.notes[0]


@pytest.mark.parametrize(
    "word",
    [
        "abgebrochen", "crashed", "failed", "FAILED (exit 137)", "OOM", "out of memory", "#NV",
        "---", "#DIV/0!", "n.a.", "Absturz nach 300 Schritten", "timeout", "killed", "segfault",
        "diverged", "CUDA error 700", "échoué", "fehlgeschlagen", "falló", "не завершён", "x",
        "illegal memory access",
    ],
)  # fmt: skip
def test_a_run_that_failed_in_words_is_left_out_and_said(word: str) -> None:
    table = read(f"n,gpus,ms\n1000,1,4\n1000,2,{word}\n1000,4,1\n")
    assert [e.gpus for e in steps_of(table)] == [1, 4]
    assert table.notes[-1].startswith("1 row without a time left out")
    if word[0].isalpha() and word != "n.a.":
        assert repr(word) in table.notes[-1]


@pytest.mark.parametrize("state", ["crashed", "abgebrochen", "OOM", "Failed", "out of memory"])
def test_a_state_in_other_words_than_slurms_is_none_of_a_job_that_completed(state: str) -> None:
    table = read(f"n,gpus,ms,state\n1,1,4,ok\n1,2,0.1,{state}\n1,4,1,done\n")
    assert [e.gpus for e in steps_of(table)] == [1, 4]
    assert "left out: 1 " in table.notes[0]


# ------------------------------------------------------------- whole runs ----


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ("wall time (s)", "50"), ("Walltime", "50"), ("Run time [min]", "0.83333333333333333"),
        ("Elapsed [hh:mm:ss]", "00:00:50"), ("Laufzeit [mm:ss]", "0:50"), ("runtime_ms", "50000"),
        ("total time (s)", "50"), ("Loop time", "50"), ("wall time (h:mm:ss)", "0:00:50"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("steps_name", ["steps", "Schritte", "n_steps", "Number of iterations"])
def test_the_time_of_a_run_is_shared_out_over_its_steps(
    name: str, cell: str, steps_name: str
) -> None:
    (step,) = steps(f"atoms;gpus;{steps_name};{name}\n1000;1;10000;{cell}\n")
    assert step.seconds == [pytest.approx(5e-3)]


def test_a_time_beside_steps_is_asked_about_unless_its_name_says_of_what_it_is() -> None:
    text = "atoms,gpus,steps,time (s)\n1000,1,1000,50\n"
    assert error_of(text) == (
        "t.csv:1: 'time (s)' may be the time of a step or of all 'steps'; import with --columns "
        "seconds='time (s)':s/step for one step, steps=steps for all"
    )
    assert steps(text, "seconds=time (s):s/step")[0].seconds == [50]
    assert steps(text, "steps=steps")[0].seconds == [0.05]
    for name in ("ms/step", "time per step (ms)", "mean (ms)", "step_time_ms"):
        assert steps(f"atoms,gpus,steps,{name}\n1000,1,1000,50\n")[0].seconds == [0.05]
    assert steps("atoms,gpus,steps,steps/s\n1000,1,1000,50\n")[0].seconds == [0.02]


# ---------------------------------------------------------- contradictions ----


@pytest.mark.parametrize("timestep", [None, TIMESTEP])
def test_two_columns_of_speed_that_contradict_each_other_are_asked_about(
    timestep: float | None,
) -> None:
    text = "n,gpus,ns/day,ms/step\n1,1,86.4,2\n1,2,17.28,1\n1,4,345.6,0.5\n"
    assert error_of(text, timestep=timestep) == (
        "t.csv:3: ms/step: '1' means 1 ms a step, 'ns/day' '17.28' means 10 ms: one is wrong; "
        "take one with --columns seconds=ms/step or seconds=ns/day"
    )
    assert steps(text, "seconds=ms/step", timestep=timestep)[1].seconds == [1e-3]
    right = text.replace("17.28", "172.8")
    table = read(right, timestep=timestep)
    assert [e.seconds for e in steps_of(table)] == [[2e-3], [1e-3], [5e-4]]
    together = "'ms/step' and 'ns/day' together imply a time step of 2 fs"
    assert (together in table.notes) == (timestep is None)


@pytest.mark.parametrize(
    ("heading", "seconds"),
    [
        ("real (min)", 198.0), ("real [ms]", 3.3e-3), ("real_us", 3.3e-6), ("real ms", 3.3e-3),
        ("real (Min.)", 198.0), ("real (it/s)", 1 / 3.3), ("real (4 ranks)", 3.3),
        ("best_min", 3.3),
    ],
)  # fmt: skip
def test_columns_take_the_unit_of_the_heading_that_they_name(heading: str, seconds: float) -> None:
    text = f"n,gpus,{heading}\n1,1,3.3\n"
    (step,) = steps(text, f"seconds={heading}")
    assert step.seconds == [pytest.approx(seconds)]
    assert steps(text, f"seconds={heading}:us")[0].seconds == [pytest.approx(3.3e-6)]


# -------------------------------------------------------- nodes and models ----


def test_gpus_of_a_node_are_those_of_each() -> None:
    text = "n,nodes,ms\n1000,1,4\n1000,2,2\n1000,4,1\n"
    for table in read(text, gpus_per_node=4), read(text, "gpus=nodes*4"):
        cells = [(e.gpus, e.nodes) for e in steps_of(table)]
        assert cells == [(4, 1), (8, 2), (16, 4)]
        assert "gpus from 'nodes' (times 4)" in table.notes[0]
    assert error_of(text, gpus=4) == (
        "t.csv: --gpus: 4 would be the GPUs of every run, but these are on 1, 2, 4 nodes; if each "
        "node has 4, import with --gpus-per-node 4"
    )
    assert "gpus=nodes*4 where each node has 4" in error_of(text)
    # The same number of nodes leaves no doubt.
    assert [step.gpus for step in steps("n,nodes,ms\n1,2,4\n2,2,2\n", gpus=4)] == [4, 4]


@pytest.mark.parametrize(
    ("rows", "row"),
    [
        ("1,4,8\n2,4,4\n4,4,2\n8,4,1\n", "t.csv:5: GPUs: 4 GPUs on 8 nodes"),
        ("1,4,4\n2,4,2\n", "t.csv:3: GPUs: 4 GPUs on 2 nodes"),
        ("1,1,8\n2,1,4\n2,2,4\n", "t.csv:3: GPUs: 1 GPU on 2 nodes"),
    ],
)
def test_gpus_that_may_be_those_of_each_node_are_asked_about(rows: str, row: str) -> None:
    text = "n,nodes,GPUs,ms\n" + rows.replace("\n", "\n1000,").removesuffix("1000,")
    text = text.replace("ms\n", "ms\n1000,", 1)
    assert error_of(text) == (
        f"{row} may be a count for each node; if so, import with --columns gpus_per_node=GPUs; if "
        "it is that of all nodes together, with --columns gpus=GPUs"
    )
    cells = [tuple(map(int, line.split(",")[:2])) for line in rows.splitlines()]
    value, of_all = steps(text, "gpus_per_node=GPUs"), steps(text, "gpus=GPUs")
    assert [step.gpus for step in value] == [nodes * gpus for nodes, gpus in cells]
    assert [step.gpus for step in of_all] == [gpus for _, gpus in cells]


@pytest.mark.parametrize(
    ("text", "columns", "told"),
    [
        ("n,nodes,gpus,s\n1,1,4,2\n1,2,8,1\n", None, "'gpus' says 4 GPUs on 1 node"),
        ("n,nodes,gpus_per_node,s\n1,1,4,2\n", None, "'gpus_per_node' says 4"),
        ("n,nodes,s\n1,1,2\n1,2,1\n", "gpus=nodes*4", "'nodes' says 4 GPUs on 1 node"),
        ("n,gpus,s\n1,12,2\n", None, "'gpus' says 12 GPUs"),
    ],
)
def test_gpus_per_node_that_a_table_contradicts_is_refused(
    text: str, columns: str | None, told: str
) -> None:
    assert error_of(text, columns, gpus_per_node=8) == (
        f"t.csv:2: --gpus-per-node: 8 contradicts the table: {told}; omit the option"
    )
    assert steps(text, columns, gpus_per_node=4) == steps(text, columns)


def test_nodes_are_no_gpus_beside_the_gpus_of_each() -> None:
    text = "n,Nodes,GPUs per Node,ms\n1000,1,4,4\n1000,2,4,2\n"
    assert "gpus=Nodes names nodes, and 'GPUs per Node'" in error_of(text, "gpus=Nodes")
    assert [step.gpus for step in steps(text)] == [4, 8]


@pytest.mark.parametrize(
    "name",
    ["gpu_type", "GPU", "accelerator", "GPU model", "Accelerator type", "GPU-Typ", "Beschleuniger",
     "Grafikkarte", "gpu_name", "Device"],
)  # fmt: skip
def test_models_of_gpus_are_machines(name: str) -> None:
    text = f"n,gpus,{name},ms\n1000,1,A100,4\n1000,2,A100,2\n1000,1,H100,2\n1000,2,H100,1\n"
    records = steps(text)
    assert [(step.machine, step.gpus) for step in records] == [
        ("m, A100", 1), ("m, A100", 2), ("m, H100", 1), ("m, H100", 2),
    ]  # fmt: skip
    # One model is what the machine has.
    one = read(text.replace("H100", "A100").replace(",2\n", ",2.1\n"))
    assert {entry.machine for entry in one.entries} == {"m"}
    assert one.machine == {"gpus": [{"name": "A100"}]}


@pytest.mark.parametrize("speed", ["ms/step", "ns/day", "steps/s"])
@pytest.mark.parametrize("factor", [0.4, 0.9, 1.5, 3.0])
def test_the_time_of_a_run_goes_with_that_of_its_steps(speed: str, factor: float) -> None:
    """1000 steps of 4 ms are 4 s."""
    values = {"ms/step": 4, "ns/day": 86400 * 2e-6 / 4e-3, "steps/s": 250}
    text = f"n,gpus,{speed},steps,wall time (s)\n1,1,{values[speed]},1000,{4 * factor}\n"
    if 0.5 < factor < 2:
        assert steps(text, timestep=TIMESTEP)[0].seconds == [pytest.approx(4e-3)]
        return
    message = error_of(text, timestep=TIMESTEP)
    assert f"a step, 'wall time (s)' '{4 * factor}' over 'steps' means" in message
    of_steps = steps(text, f"seconds={speed}", timestep=TIMESTEP)
    assert of_steps[0].seconds == [pytest.approx(4e-3)]
    of_run = steps(text, "seconds='wall time (s)'".replace("'", ""), timestep=TIMESTEP)
    assert of_run[0].seconds == [pytest.approx(4e-3 * factor)]


# ------------------------------------------- rows that are no repetitions ----


def made(name: str, values: Sequence[str], factor: float, noise: float, seed: int) -> str:
    """A table of six cells with a row for each value, whose time is a multiple of that of the one
    before."""
    draw = np.random.default_rng(seed)
    rows = [f"n,gpus,ms,{name}"]
    for n, gpus in itertools.product((1e5, 4e5), (1, 2, 4)):
        for power, value in enumerate(values):
            ms = (1 + 1e-4 * n / gpus) * factor**power * draw.lognormal(0, noise)
            rows.append(f"{n:g},{gpus},{ms:.5g},{value}")
    return "\n".join(rows) + "\n"


@pytest.mark.parametrize("name", ["Card", "arch", "partition", "Modele GPU", "queue", "notes"])
@given(factor=st.floats(1.5, 3), noise=st.floats(0, 0.05), seed=st.integers(0, 99))
def test_a_column_that_explains_why_rows_differ_is_asked_about(
    name: str, factor: float, noise: float, seed: int
) -> None:
    text = made(name, ["A100", "V100"], factor, noise, seed)
    message = error_of(text)
    assert message.startswith(f"t.csv: {name}: rows of the same n and GPU count take")
    assert "with 'V100' as with 'A100'" in message
    column = name if " " not in name else f"'{name}'"
    assert f"gpu_type={column} (kinds of GPUs), case={column} (other runs)" in message
    machines = steps(text, f"gpu_type={name}")
    assert {step.machine for step in machines} == {"m, A100", "m, V100"}
    assert {step.case for step in steps(text, f"case={name}")} == {"A100", "V100"}
    assert {len(step.seconds) for step in steps(text, "repeat=*")} == {2}


@pytest.mark.parametrize("name", ["jobs_per_gpu", "concurrent_sims"])
def test_numbers_that_explain_it_may_be_instances(name: str) -> None:
    text = made(name, ["1", "2", "4"], 1.8, 0.02, 1)
    assert f"with '4' as with '1'; import with --columns instances={name} " in error_of(text)
    assert {step.instances for step in steps(text, f"instances={name}")} == {1, 2, 4}


@pytest.mark.parametrize("name", ["seed", "host", "date", "Card", "repeat"])
@pytest.mark.parametrize("seed", range(20))
def test_columns_of_repetitions_are_not_asked_about(name: str, seed: int) -> None:
    text = made(name, ["1", "2", "3"], 1.0, 0.2, seed)
    assert {len(step.seconds) for step in steps(text)} == {3}


def test_a_first_run_that_is_slow_is_a_repetition() -> None:
    text = made("run", ["3", "2", "1"], 1.4, 0.02, 1)
    assert {len(step.seconds) for step in steps(text)} == {3}


def test_what_is_asked_about_rows_names_roles_that_are_free() -> None:
    text = "".join(
        f"{line},{word}\n"
        for line, word in zip(
            made("Card", ["A", "B"], 2, 0.01, 1).splitlines(), ["case", *["x"] * 12], strict=True
        )
    )
    assert "gpu_type=Card (kinds of GPUs), program=Card (other runs)" in error_of(text)


# ------------------------------------------------------ numbers and blanks ----


@pytest.mark.parametrize(
    ("cell", "n"),
    [("0.5 M", 5e5), ("0.5M", 5e5), ("64k", 64000), ("2 Mio", 2e6), ("1.2 million", 1.2e6),
     ("2.3 M", 2300000), ("500", 500)],
)  # fmt: skip
def test_sizes_may_have_a_factor_behind_them(cell: str, n: float) -> None:
    assert steps(f"atoms,gpus,ms\n{cell},1,4\n")[0].n == n
    comma = cell.replace(".", ",")
    assert steps(f"Atome;GPUs;ms\n{comma};1;4,5\n")[0].n == n


@pytest.mark.parametrize(
    "text",
    [
        "atoms    GPUs   ms per step\n24000    1      4\n24000    2      2.5\n",
        "atoms gpus ms/step\n24000 1 4\n24000 2 2.5\n",
        "  atoms  gpus  ms/step\n  -----  ----  -------\n  24000     1        4\n"
        "  24000     2      2.5\n",
        "Our times in ms per step of n atoms by gpus\n\natoms gpus ms\n24 000  1  4\n"
        "24 000  2  2.5\n",
        "Our times in ms per step of n atoms by gpus\n\natoms,gpus,ms\n24000,1,4\n24000,2,2.5\n",
    ],
)
def test_columns_may_be_aligned_by_blanks(text: str) -> None:
    assert CSV.detect(text)
    cells = [(step.n, step.gpus, step.seconds) for step in steps(text)]
    assert cells == [(24000, 1, [4e-3]), (24000, 2, [2.5e-3])]


# ------------------------------------------------------------ utilization ----


@pytest.mark.parametrize(
    "text",
    [
        "timestamp, name, utilization.gpu [%]\n2026/01/01 10:00:00, H100, 97 %\n",
        "Time,gpu,GPU Util\n10:00,0,97\n",
        'DCGM_FI_DEV_GPU_UTIL{gpu="0"} 97\n',
        'Time,"nvidia_smi_utilization_gpu_ratio{gpu=""0""}"\n10:00,0.97\n',
    ],
)
def test_utilization_is_no_step_time(text: str, tmp_path: Path) -> None:
    (tmp_path / "u.csv").write_text(text)
    with pytest.raises(InputError, match="GPU utilization, which does not tell step times"):
        gc.read(tmp_path / "u.csv")
    # With step times it is a column like others.
    assert steps("n,gpus,s,GPU util\n1,1,3,97\n")[0].seconds == [3]


def test_unicode_text_of_spreadsheet_programs_is_read(tmp_path: Path) -> None:
    (tmp_path / "steps.txt").write_text("atoms\tgpus\tµs\n24 000\t1\t0,31\n", encoding="utf-16")
    (step,) = gc.read(tmp_path / "steps.txt").steps
    assert (step.n, step.seconds) == (24000, [0.31 / 1e6])


def test_repetitions_that_differ_far_more_than_others_are_named_by_their_lines() -> None:
    rows = "n,gpus,ms\n1000,1,5.0\n1000,1,5.1\n1000,2,3.0\n1000,2,3.1\n1000,4,1.9\n1000,4,19\n"
    assert texts_of(read(rows).remarks) == [
        "t.csv:6 and :7: 1.9 ms and 19 ms for the same n and GPU count, much farther apart than "
        "other repetitions in the table: one is wrong, or an unused column distinguishes them"
    ]
    assert read(rows.replace("19\n", "1.8\n")).remarks == []


# ------------------------------------------------------------------- numbers ----


@pytest.mark.parametrize(
    "text",
    [
        'n,gpus,ms\n"24,000",1,0.31\n', "n;gpus;ms\n24.000;1;0,31\n",
        "n\tgpus\tms\n24 000\t1\t0,31\n",
        "n;gpus;ms\n24'000;1;0.31\n", "n;gpus;ms\n24\u202f000;1;,31\n", "n,gpus,us\n24e3,1.0,310\n",
    ],
)  # fmt: skip
def test_thousands_and_decimals_are_read_as_written(text: str) -> None:
    (step,) = steps(text)
    assert (step.n, step.gpus, step.seconds) == (24000, 1, [pytest.approx(0.00031, rel=1e-15)])


@pytest.mark.parametrize("cell", ["24,000", "24.000"])
def test_a_number_that_may_be_two_is_asked_about(cell: str) -> None:
    text = f"n;gpus;ms\n{cell};1;310\n"
    assert error_of(text) == (
        f"t.csv:2: '{cell}' may be {'24000 or 24' if ',' in cell else '24 or 24000'}; import "
        "with --decimal point or --decimal comma"
    )
    read_as = [steps(text, decimal=how)[0].n for how in ("point", "comma")]
    assert sorted(read_as) == [24, 24000]


# --------------------------------------------------- any table reads back ----


@dataclass(frozen=True)
class Written:
    """A unit by its header, and what a step of so many seconds is in it."""

    header: str
    number: Callable[[float, float], float]


UNITS = [
    Written("seconds", lambda t, n: t),
    Written("ms/step", lambda t, n: t * 1e3),
    Written("time (us)", lambda t, n: t * 1e6),
    Written("steps/s", lambda t, n: 1 / t),
    Written("samples/s", lambda t, n: n / t),
    Written("Matom-steps/s", lambda t, n: n / t / 1e6),
    Written("ns/day", lambda t, n: TIMESTEP * 86400 / t * 1e9),
    Written("hours/ns", lambda t, n: t / 3600 / TIMESTEP * 1e-9),
    Written("days/ns", lambda t, n: t / 86400 / TIMESTEP * 1e-9),
]


def as_written(value: float, decimal: str, group: str) -> str:
    """All of Python's digits, written in another way."""
    text = repr(value)
    if "e" in text or value >= 1e15:
        return text.replace(".", decimal)
    whole, point, rest = text.partition(".")
    grouped = f"{int(whole):,}".replace(",", group)
    return grouped + (decimal + rest if point else "")


def assert_is_read_or_asked_about(text: str, truth: list[Step]) -> None:
    """If the decimal mark is not stated, the result is right or the user is asked."""
    try:
        assert steps(text, timestep=TIMESTEP) == truth
    except InputError as error:
        assert "--decimal" in str(error)  # noqa: PT017


@relaxed
@given(
    st.lists(
        st.tuples(
            st.one_of(st.integers(1, 10**15), st.floats(1e-3, 1e15)),
            st.integers(1, 10**6),
            st.floats(1e-9, 299.0),
        ),
        min_size=1,
        max_size=6,
        unique_by=lambda row: (row[0], row[1]),
    ),
    st.sampled_from(UNITS),
    st.sampled_from(",;\t"),
    st.sampled_from(
        [(".", ""), (".", ","), (".", " "), (".", "'"), (",", ""), (",", "."), (",", "\u202f")]
    ),
)  # fmt: skip
def test_any_table_reads_back_to_the_same_seconds(
    rows: list[tuple[float, int, float]],
    unit: Written,
    delimiter: str,
    way: tuple[str, str],
) -> None:
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=delimiter)
    writer.writerow(["Atoms", "colour", unit.header, "GPUs"])
    for n, gpus, seconds in rows:
        shown = [as_written(value, *way) for value in (n, unit.number(seconds, n), gpus)]
        writer.writerow([shown[0], "red", shown[1], shown[2]])
    decimal = "comma" if way[0] == "," else "point"
    records = steps(stream.getvalue(), timestep=TIMESTEP, decimal=decimal)
    if delimiter != ",":  # if commas separate cells, a comma in a number separates thousands
        assert_is_read_or_asked_about(stream.getvalue(), records)
    assert [(step.n, step.gpus) for step in records] == [(n, gpus) for n, gpus, _ in rows]
    for step, (_, _, seconds) in zip(records, rows, strict=True):
        assert step.seconds == [pytest.approx(seconds, rel=1e-12)]


@relaxed
@given(st.text("natomsgpu,;\t\n'\"()/0123456789.e-# ", max_size=80), st.booleans())
def test_any_text_is_read_or_refused_in_one_line(text: str, headed: bool) -> None:
    complaint_of(lambda: read("atoms;gpus;ms/step\n" * headed + text))


# ------------------------------------------ workbooks, Parquet, data frames ----

FRAME = pandas.DataFrame(
    {
        "atoms": [24_000, 24_000, 96_000],
        "GPUs": [1, 2, 2],
        "ms/step": [0.31, 0.407, math.nan],
        "system": ["a", "a", None],
    }
)


def assert_is_the_frame(data: gc.Dataset) -> None:
    assert [(s.n, s.unit, s.gpus, s.seconds) for s in data.steps] == [
        (24_000, "atoms", 1, [0.31 / 1000]),
        (24_000, "atoms", 2, [0.407 / 1000]),
    ]
    assert data.understood[-2:] == [
        f"{data.name}: 1 column not used: 'system'",
        f"{data.name}: 1 row without a time left out",
    ]


def test_a_data_frame_is_read_as_a_table() -> None:
    assert_is_the_frame(gc.read(FRAME))
    assert_is_the_frame(gc.read(FRAME.set_index(["atoms", "GPUs"])))


def test_a_wrong_value_of_a_data_frame_is_named_by_its_row() -> None:
    with pytest.raises(InputError, match=r"^DataFrame:2: GPUs: 'two' is not a number$"):
        gc.read(FRAME.assign(GPUs=[1, "two", 2]))


def test_a_workbook_is_read_below_its_header(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    file = tmp_path / "steps.xlsx"
    with pandas.ExcelWriter(file) as book:
        FRAME.to_excel(book, sheet_name="runs", index=False, startrow=3)
        pandas.DataFrame({"who": ["me"]}).to_excel(book, sheet_name="about", index=False)
    assert_is_the_frame(gc.read(file))
    assert_is_the_frame(gc.load(file))
    FRAME.assign(GPUs=[1, 0, 2]).to_excel(file, index=False, startrow=3)
    with pytest.raises(InputError, match=r"steps.xlsx:6: GPUs: must be at least 1, got 0"):
        gc.read(file)


def book_of(rows: list[list[object]], merged: list[str], file: Path) -> Path:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for value in merged:
        book.active.merge_cells(value)
    book.save(file)
    return file


@pytest.mark.parametrize("shown_as", ["[hh]:mm:ss", "hh:mm:ss", "[mm]:ss"])
@pytest.mark.parametrize("name", ["Laufzeit [hh:mm:ss]", "Laufzeit", "wall time (s)"])
def test_durations_of_a_workbook_are_seconds(name: str, shown_as: str, tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["Atome", "GPUs", "Schritte", name])
    # A spreadsheet stores times as fractions of a day: 27 h, and 50 s.
    for row, seconds in enumerate((27 * 3600, 50), start=2):
        book.active.append([1000, row, 1000, seconds / 86400])
        book.active.cell(row, 4).number_format = shown_as
    book.save(tmp_path / "t.xlsx")
    assert [step.seconds for step in gc.read(tmp_path / "t.xlsx").steps] == [
        [pytest.approx(97.2)],
        [pytest.approx(0.05)],
    ]


def test_merged_cells_of_a_workbook_are_of_each_of_their_rows(tmp_path: Path) -> None:
    rows = [
        ["Scaling", None, None, None],
        ["System size [M atoms]", "GPUs", "ms/step", "case"],
        [0.5, 1, 10, "PME"],
        [None, 2, 6, None],
        [2, 1, 40, None],
        [None, 2, 22, None],
        [None, 4, None, None],
    ]
    file = book_of(rows, ["A1:D1", "A3:A4", "A5:A7", "D3:D6", "C6:C7"], tmp_path / "steps.xlsx")
    cells = [(step.n, step.gpus, *step.seconds, step.case) for step in gc.read(file).steps]
    # A merged time is a single time, that of its first row.
    assert cells == [
        (5e5, 1, 10e-3, "PME"), (5e5, 2, 6e-3, "PME"),
        (2e6, 1, 40e-3, "PME"), (2e6, 2, 22e-3, "PME"),
    ]  # fmt: skip


def test_blank_cells_that_are_not_merged_stay_blank(tmp_path: Path) -> None:
    rows: list[list[object]] = [["n", "gpus", "s"], [1000, 1, 1], [None, 2, 1]]
    file = book_of(rows, [], tmp_path / "steps.xlsx")
    with pytest.raises(InputError, match="n: missing; if a blank means the value above"):
        gc.read(file)


def test_merged_sizes_are_of_each_row_where_counts_stand_across(tmp_path: Path) -> None:
    rows = [["atoms", "case", "1 GPU (ms)", "2 GPU (ms)"], [1000, "a", 2, 1], [None, "b", 4, 3]]
    file = book_of(rows, ["A2:A3"], tmp_path / "steps.xlsx")
    cells = [(step.n, step.case, step.gpus) for step in gc.read(file).steps]
    assert cells == [(1000, "a", 1), (1000, "a", 2), (1000, "b", 1), (1000, "b", 2)]


def test_formulas_that_no_spreadsheet_has_computed_are_no_times(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["n", "gpus", "seconds"])
    book.active.append([1000, 1, "=1/100"])
    book.save(tmp_path / "steps.xlsx")
    with pytest.raises(InputError, match="no row has a time; cells of formulas have values once"):
        gc.read(tmp_path / "steps.xlsx")


def test_of_several_sheets_with_tables_one_is_to_be_named(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    file = tmp_path / "steps.xlsx"
    with pandas.ExcelWriter(file) as book:
        FRAME.to_excel(book, sheet_name="old", index=False)
        FRAME.to_excel(book, sheet_name="new", index=False)
    with pytest.raises(InputError, match="--sheet: has several tables: old, new; choose one"):
        gc.read(file)
    assert_is_the_frame(gc.read(file, sheet="new"))
    with pytest.raises(InputError, match="--sheet: there is no sheet 'newer'; there are: old, new"):
        gc.read(file, sheet="newer")


def test_a_parquet_file_is_read_as_a_table(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    FRAME.to_parquet(tmp_path / "steps.parquet")
    assert_is_the_frame(gc.read(tmp_path / "steps.parquet"))


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (b"PK\x03\x04nothing", "cannot be read as Excel workbook|workbooks need openpyxl"),
        (b"PAR1nothing", "cannot be read as Parquet file|Parquet files need pyarrow"),
        (bytes.fromhex("d0cf11e0a1b11ae1"), "is an old workbook"),
    ],
)
def test_a_damaged_file_is_refused_in_one_line(start: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "steps").write_bytes(start)
    with pytest.raises(InputError, match=message) as caught:
        gc.read(tmp_path / "steps")
    assert "\n" not in str(caught.value)
