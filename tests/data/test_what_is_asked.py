"""Unclear files: sizes of each GPU, nodes, whole runs, unknown logs."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pandas
import pytest

import gpucast as gc
from command_line import Run
from gpucast.data.formats.logs.suggested import expression
from gpucast.util.number_lists import grid, one_each

JUBE = "nodes,small,medium,large\n1,128.9,194.8,251.5\n2,128.1,194.3,251.8\n4,129.3,195.5,252.1\n"


def file(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_table_of_nodes_and_several_times_says_the_command_that_reads_it(tmp_path: Path) -> None:
    table = file(tmp_path, "weak.dat", JUBE)
    with pytest.raises(gc.InputError) as caught:
        gc.read(table)
    assert (
        "import with --columns seconds=small:s (or medium, large) --gpus-per-node N -n SIZE "
        "(or n=COLUMN), and --steps N where times are of whole runs"
    ) in str(caught.value)
    with pytest.raises(gc.InputError, match=r"--gpus-per-node N -n R02B09 \(or n=COLUMN\)"):
        gc.read(file(tmp_path, "result-R02B09_open.csv", JUBE))
    read = gc.read(
        table, columns="seconds=medium:s", gpus_per_node=4, n=1e6, size_of="all", steps=100
    )
    assert [(step.gpus, step.n, step.seconds) for step in read.steps] == [
        (4, 1e6, [pytest.approx(1.948)]), (8, 1e6, [pytest.approx(1.943)]),
        (16, 1e6, [pytest.approx(1.955)]),
    ]  # fmt: skip


def test_the_command_for_unknown_columns_takes_their_units_and_no_rates(tmp_path: Path) -> None:
    text = "nranks,kernel_ms,MFU,req/s,energy_kJ,wall_ms\n1,1.5,40.5,3.5,9.5,6.5\n"
    with pytest.raises(gc.InputError) as caught:
        gc.read(file(tmp_path, "t.csv", text))
    command = str(caught.value).partition("import with ")[2]
    assert command == (
        "--columns gpus=nranks,seconds=wall_ms (or kernel_ms) -n SIZE (or n=COLUMN), and --steps N "
        "where times are of whole runs; gpus=nranks where each rank has a GPU of its own"
    )
    (step,) = gc.read(tmp_path / "t.csv", columns="gpus=nranks,seconds=wall_ms", n=8).steps
    assert step.seconds == [0.0065]
    with pytest.raises(gc.InputError, match=r"where no column has it, with -n SIZE --gpus N$"):
        gc.read(
            file(tmp_path, "u.csv", "a,time per step (s)\n1,2\n"),
            columns="seconds=time per step (s)",
        )


def test_a_rate_of_the_tables_work_says_what_long_times_are(tmp_path: Path) -> None:
    text = "gpus,samples,time (s),samples/s\n1,3072000,1321.98,{}\n2,3072000,664.08,4626.0\n"
    (step, *_) = gc.read(file(tmp_path, "t.csv", text.format("2323.8"))).steps
    assert step.seconds == [1321.98]
    with pytest.raises(gc.InputError, match="one is wrong"):
        gc.read(file(tmp_path, "t.csv", text.format("23.2")))


@pytest.mark.parametrize(
    ("row", "seconds"),
    [
        ("2;6.695 s;1.66x", 6.695),
        ("2;6,695 s;1,66x", 6.695),
        ("2;1.695 s;$2.00", 1.695),
    ],
)
def test_decimals_of_other_columns_tell_what_a_time_is(
    tmp_path: Path, row: str, seconds: float
) -> None:
    table = file(tmp_path, "t.csv", f"gpus;time;other\n{row}\n")
    (step,) = gc.read(table, n=8).steps
    assert step.seconds == [seconds]
    version = file(tmp_path, "v.csv", "gpus;time;version\n2;6.695;2024.1\n")
    with pytest.raises(gc.InputError, match=r"may be 6\.695 or 6695"):
        gc.read(version, n=8)


def test_atoms_are_counted_whole_and_steps_may_be_thousands(tmp_path: Path) -> None:
    table = file(tmp_path, "t.csv", "gpus;atoms;total time (s);steps\n1;28,823;450;450k\n")
    (step,) = gc.read(table).steps
    assert (step.n, step.seconds) == (28823, [1e-3])


def test_a_table_of_unknown_columns_is_refused_with_their_names(tmp_path: Path) -> None:
    table = file(tmp_path, "t.csv", "model,x,y\nllama,1.5,2\nllama,2.5,3\n")
    with pytest.raises(gc.InputError, match="it has model, x, y"):
        gc.read(table)
    rates = file(tmp_path, "r.md", "| Model | TP | tokens/s |\n|---|---|---|\n| A | 2 | 99.5 |\n")
    with pytest.raises(gc.InputError, match="columns 'n' and 'gpus' are missing"):
        gc.read(rates)


def test_rates_in_columns_of_other_words_are_named(tmp_path: Path) -> None:
    rows = "|---|---|---|\n| 8x16 | 50.5 | 400 |\n| 8x8 | 90.5 | 800 |\n"
    table = file(tmp_path, "t.md", f"| Mesh | CPU Steps/sec | GPU Steps/sec |\n{rows}")
    asked = "import with --columns seconds='GPU Steps/sec' (or 'CPU Steps/sec') -n SIZE"
    with pytest.raises(gc.InputError, match=re.escape(asked)):
        gc.read(table)
    read = gc.read(table, columns="seconds=GPU Steps/sec,n=Mesh", gpus=1)
    assert [(step.n, step.seconds) for step in read.steps] == [(128, [1 / 400]), (64, [1 / 800])]
    busy = "| Nodes | Average speed (ns/day) | GPU utilization (%) |\n|---|---|---|\n"
    with pytest.raises(gc.InputError, match=r"seconds='Average speed \(ns/day\)'"):
        gc.read(file(tmp_path, "busy.md", f"{busy}| 1 | 80.5 | 70 |\n| 2 | 157.5 | 60 |\n"))


@pytest.mark.parametrize(
    "text",
    [
        "# nodes gpus cells time_per_step\n1 4 1e6 0.5\n",  # as for gnuplot
        "# scaling\n% nodes  gpus  cells  Time/step (s)\n1  4  1e6  0.5\n",
        "# a\n#gpus \t#cells\t# avg time per time step\n8\t1e6\t-\t#failed\n4\t1e6\t\t0.5  # ok\n",
        "#gpus\tcells\tavg time/step (ms)\n4\t1e6\t500\n",
        "gpus,cells,Avg. wall time per iteration [s]\n4,1e6,0.5\n",
        "gpus,cells,sdpd\n4,1e6,2\n",  # steps of 1 s, which take half of one
    ],
)
def test_headers_of_comments_and_names_of_step_times_are_known(tmp_path: Path, text: str) -> None:
    (step,) = gc.read(file(tmp_path, "t.dat", text), timestep=1.0).steps
    assert (step.gpus, step.n, step.seconds) == (4, 1e6, [pytest.approx(0.5)])


def test_names_behind_marks_are_parted_by_these_also_where_one_is_said(tmp_path: Path) -> None:
    table = file(tmp_path, "t.dat", "#nproc \t#side\t# avg time per time step\n24\t2\t\t0.5\n")
    with pytest.raises(gc.InputError, match="gpus=nproc where each rank has a GPU of its own"):
        gc.read(table)
    assert gc.read(table, columns="gpus=nproc", n=8).steps[0].seconds == [0.5]


def test_times_with_units_in_their_cells_are_named(tmp_path: Path) -> None:
    table = file(tmp_path, "t.csv", "Cells,CPU Time,GPU Time\n2048,0.068s,0.008s\n")
    asked = "--columns seconds='GPU Time':s (or 'CPU Time') --gpus N (or gpus=COLUMN), and"
    with pytest.raises(gc.InputError, match=re.escape(asked)):
        gc.read(table)
    assert gc.read(table, columns="seconds=GPU Time:s", gpus=1).steps[0].seconds == [0.008]


def test_a_stated_size_is_asked_about_where_times_do_not_change_with_the_gpus(
    tmp_path: Path,
) -> None:
    table = file(tmp_path, "weak.dat", JUBE)
    stated = {"columns": "seconds=small:s", "gpus_per_node": 4, "n": 1e6}
    with pytest.raises(gc.InputError, match=r"-n: times do not change .* --size-of gpu; if not"):
        gc.read(table, **stated)  # type: ignore[arg-type]
    read = gc.read(table, size_of="gpu", **stated)  # type: ignore[arg-type]
    assert [step.n for step in read.steps] == [4e6, 8e6, 16e6]
    fell = file(tmp_path, "strong.dat", "nodes,time\n1,8.0\n2,4.5\n")
    assert len(gc.read(fell, gpus_per_node=4, n=1e6).steps) == 2


def test_a_batch_is_asked_about_where_times_do_not_change_with_the_gpus() -> None:
    frame = pandas.DataFrame({"Batch": [32, 32], "gpus": [1, 4], "ms": [100.0, 104.0]})
    with pytest.raises(gc.InputError, match=r"n is the batch of each GPU.*n=Batch:per-GPU; if it"):
        gc.read(frame)
    assert [step.n for step in gc.read(frame, columns="n=Batch").steps] == [32, 32]
    assert [step.n for step in gc.read(frame, columns="n=Batch:per-GPU").steps] == [32, 128]


def test_machines_of_a_known_name_have_their_gpus_in_each_node(tmp_path: Path) -> None:
    table = file(tmp_path, "t.csv", "cells,nodes,seconds\n1000,2,1.5\n")
    assert gc.read(table, machine="JUWELS Booster").steps[0].gpus == 8
    assert gc.read(table, machine="JUWELS Booster", gpus_per_node=2).steps[0].gpus == 4
    with pytest.raises(gc.InputError, match="column 'gpus' is missing"):
        gc.read(table, machine="somewhere")


def test_a_column_of_grids_is_one_of_sizes_but_not_one_of_processes() -> None:
    frame = pandas.DataFrame(
        {"mesh": ["64x64x128", "128^3"], "procs": ["2x2x1", "2x2x2"], "gpus": [4, 8], "s": [1, 2]}
    )
    frame = frame.rename(columns={"mesh": "resolution", "procs": "process grid"})
    assert [step.n for step in gc.read(frame).steps] == [64 * 64 * 128, 128**3]
    sides = pandas.DataFrame({"nx": [64], "ny": [32], "nz": [16], "gpus": [4], "s": [1.5]})
    assert gc.read(sides).steps[0].n == 64 * 32 * 16


@pytest.mark.parametrize(
    ("text", "points"),
    [
        ("1024 1024 512", 1024 * 1024 * 512), ("64x64x128", 64 * 64 * 128), ("(8, 8)", 64),
        ("128^3", 128**3), ("R02B09", 20 * 2**2 * 4**9), ("r2b4", 20 * 2**2 * 4**4),
        ("64", None), ("64x", None), ("0x64", None), ("A64x64", None),
    ],
)  # fmt: skip
def test_grids_are_sizes(text: str, points: float | None) -> None:
    assert grid(text) == points


def test_sizes_and_gpus_are_listed_one_for_each_file(tmp_path: Path) -> None:
    logs = [file(tmp_path, f"{at}.log", f"step: 1\ntime 0.{at} s\n") for at in (4, 2)]
    regex = r"time (?P<seconds>[\d.]+) s"
    read = gc.read(*logs, regex=regex, n=[64, 64], gpus=[2, 4])
    assert [(step.n, step.gpus, step.seconds) for step in read.steps] == [
        (64, 2, [0.4]), (64, 4, [0.2]),
    ]  # fmt: skip
    assert [step.n for step in gc.load(*logs, regex=regex, n="8x8", gpus=[2, 4]).steps] == [64, 64]
    with pytest.raises(gc.InputError, match="--gpus: 3 are stated for 2 files"):
        gc.read(*logs, regex=regex, n=64, gpus=[1, 2, 4])
    with pytest.raises(TypeError, match="'gpu' is not a keyword here"):
        gc.load(*logs, gpu=2)  # type: ignore[call-arg]
    assert one_each("5,000,000") == (5e6,)
    assert one_each("1k,1k") == (1000, 1000)


LINES = "world size 8\n" + "".join(
    f"step {at} | loss 3.{at} | step time: 0.{at}5 s | eta: 1:02:0{at}\n" for at in (9, 4, 5)
)


def test_an_unknown_log_is_refused_with_the_expression_that_reads_it(tmp_path: Path) -> None:
    log = file(tmp_path, "train.log", LINES)
    with pytest.raises(gc.InputError, match="is of no known format; if it is a log") as caught:
        gc.read(log)
    assert "\n" not in str(caught.value)
    *_, option, regex, size, _ = shlex.split(str(caught.value))
    assert (option, size) == ("--regex", "-n")  # the GPUs are found
    (step,) = gc.read(log, regex=regex, n=64).steps
    assert (step.gpus, step.seconds) == (8, [0.95, 0.45, 0.55])


def test_times_of_epochs_are_shared_out_by_the_steps_that_are_asked_for(tmp_path: Path) -> None:
    lines = "".join(f"Epoch {at} loss=0.{at} | train 15{9 - at}.5s\n" for at in (6, 7, 8))
    log = file(tmp_path, "a.log", lines)
    with pytest.raises(gc.InputError, match="--steps STEPS-OF-AN-EPOCH") as caught:
        gc.read(log)
    regex = shlex.split(str(caught.value).partition("--regex ")[2])[0]
    (step,) = gc.read(log, regex=regex, n=64, gpus=2, steps=100).steps
    assert step.seconds == pytest.approx([1.535, 1.525, 1.515])
    (told,) = gc.read(log, regex=regex, n=64, gpus=2).warnings
    assert "each line is of an epoch, and its time is taken for a step; if not, use --steps" in told
    of_steps = file(tmp_path, "b.log", lines.replace("train", "step time"))
    assert not gc.read(of_steps, regex=r"(?P<seconds>[\d.]+)s", n=64, gpus=2).warnings


def test_a_time_of_the_whole_run_is_found_in_one_line(tmp_path: Path) -> None:
    log = file(tmp_path, "a.log", "start of solver\nTime (sec):  1.250e+03   1.000  1.250e+03\n")
    with pytest.raises(gc.InputError, match="with --steps N if a time covers N steps") as caught:
        gc.read(log)
    regex = shlex.split(str(caught.value).partition("--regex ")[2])[0].rstrip(",")
    (step,) = gc.read(log, regex=regex, steps=100, n=8, gpus=1).steps
    assert step.seconds == [12.5]


def test_steps_are_not_asked_for_where_each_line_counts_its_own(tmp_path: Path) -> None:
    lines = "iter 10: loss 2.5, time 5.5ms\niter 20: loss 2.4, time 5.4ms\n"
    for text, asked in ((lines, False), (lines.replace("iter", "at"), True)):
        with pytest.raises(gc.InputError, match="--gpus N -n SIZE") as caught:
            gc.read(file(tmp_path, "a.log", text))
        assert ("--steps" in str(caught.value)) == asked


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Done: 30 iter / 1.5 secs = 315.6 Gflops\n", 0.05),  # of iterations in the line
        ("Iteration count = 100\nElapsed time = 3.5 (s)\n", 0.035),  # or in another
        ("Called Dw 1000 times in 5.5e+06 us\n", 0.0055),
        ("MFC-4.0 - 0.25 s/step\nMFC-4.6 - 0.26 s/step\n", 0.25),
        ("TIMING: 5  CPU: 9.5, 0.5/step, 34.57 hours remaining\n" * 2, 0.5),
        (f"solve time{' ' * 60}0.5s\n", 0.5),
        ("Timing for main on domain 1: 0.25 elapsed seconds\n" * 2, 0.25),
        ("Time steps done = 1500\nMean elapsed time per time step in seconds = 0.5\n", 0.5),
    ],
)
def test_an_expression_takes_the_time_of_a_step(tmp_path: Path, text: str, seconds: float) -> None:
    made = expression(text)
    assert made is not None
    (step,) = gc.read(file(tmp_path, "a.log", text), regex=made, n=8, gpus=1).steps
    assert step.seconds[0] == pytest.approx(seconds)


def test_the_command_says_the_decimals_that_nothing_else_tells(tmp_path: Path) -> None:
    log = file(tmp_path, "a.log", "Performance = 29.771 ns/day\n")
    with pytest.raises(gc.InputError, match=r"ns/day\)\\b' --decimal point --gpus N -n SIZE$"):
        gc.read(log)


def test_gpus_of_a_node_are_none_of_all() -> None:
    made = expression("uses 1 GPU(s) per node\n256 atoms\nPerformance: 269.2 timesteps/s\n")
    assert made is not None
    assert "?P<gpus>" not in made
    assert "?P<n>" in made


def test_a_csv_of_one_runs_steps_is_a_log(tmp_path: Path) -> None:
    # As printed by training loops; the first time includes start-up or is not a time.
    text = "step,loss,ms_per_step,elapsed_s\n0,4,0.00,0\n1,3,95.5,9\n2,3,55.0,15\n3,2,54.5,20\n"
    (step,) = gc.read(file(tmp_path, "log.csv", text), n=8, gpus=1).steps
    assert step.seconds == [0.055, 0.0545]
    table = file(tmp_path, "t.csv", "iter,gpus,n,ms\n1,1,8,4\n2,2,8,2.5\n3,4,8,1.5\n")
    assert [step.gpus for step in gc.read(table).steps] == [1, 2, 4]


def test_json_lines_of_steps_may_have_the_time_passed_alone(tmp_path: Path) -> None:
    lines = "".join(
        f'{{"current_steps": {at}, "total_steps": 99, "loss": 4.5, "elapsed_time": "1:0{at}:30"}}\n'
        for at in (2, 4, 6)
    )
    (step,) = gc.read(file(tmp_path, "trainer_log.jsonl", lines), n=8, gpus=1).steps
    assert step.seconds == [60, 60]


def test_two_times_of_runs_are_asked_about_by_the_role_that_there_is(tmp_path: Path) -> None:
    table = file(tmp_path, "jube.dat", "| n | gpus | total_time[s] | run_time[s] |\n|--|--|--|--|\n"
                 "| 36 | 32 | 1083.79 | 1073.46 |\n")  # fmt: skip
    with pytest.raises(gc.InputError, match=r"--columns seconds='total_time\[s\]' or the other"):
        gc.read(table)
    (step,) = gc.read(table, columns="seconds=run_time[s]", steps=10).steps
    assert step.seconds == [107.346]


def test_a_row_with_whole_numbers_is_no_header_of_gpu_counts(tmp_path: Path) -> None:
    table = file(tmp_path, "t.csv", "lang,device,grid,rep,ms_per_step\npython,GPU,512,1,0.55\n")
    with pytest.raises(gc.InputError, match=r"it has lang, device, grid, rep, ms_per_step"):
        gc.read(table)


def test_a_rate_that_stands_behind_its_unit_is_read(tmp_path: Path) -> None:
    lines = "".join(f"epoch 1 - iter {i}/219 - samples/sec: {19 + i} - lr: 0.1\n" for i in range(3))
    made = expression(lines)
    assert made is not None
    (step,) = gc.read(file(tmp_path, "flair.log", lines), regex=made, n=38, gpus=1).steps
    assert step.seconds == pytest.approx([2.0, 1.9, 38 / 21])


@pytest.mark.parametrize(
    ("line", "seconds"),
    [
        # The numbers of a time of day and of a line in a source file are not step times.
        ("12:00:0{i} loop.py:12{i} [timer.py:18{i}:stop] it took 0.5{i} s, at 10:0{i}:3{i}",
         [0.53, 0.51, 0.52]),
        # Words with a colon before a number are not the unit of the number before.
        ("iter time (s): 2.6{i} samples/sec: 24.{i}", [2.63, 2.61, 2.62]),
        ("batch_cost: 0.3{i}4, reader_cost: 0.1{i}, ips: 20.{i} samples/s", [0.334, 0.314, 0.324]),
        # Two GPUs share 64 images.
        ("Iter #{i}: 10{i}.5 img/s per GPU", [32 / 103.5, 32 / 101.5, 32 / 102.5]),
        ("{{'avg_tps': {i}, 'train_tokens_per_second_per_gpu': 51{i}.5}}",
         [32 / 513.5, 32 / 511.5, 32 / 512.5]),
        ("{i}%|\u2588\u258c | {i}/9 [00:0{i}<00:05, 10.{i}it/s] loss=3.{i}0",
         [1 / 10.3, 1 / 10.1, 1 / 10.2]),
        ("acme - my.long.name.of.a.logger - INFO: Step time: 0.25{i}, loss 3.{i}1",
         [0.253, 0.251, 0.252]),
        ("iter_dt 0.00ms; loss 2.0\niter_dt 5{i}.50ms; loss 2.{i}", [0.0535, 0.0515, 0.0525]),
    ],
)  # fmt: skip
def test_an_expression_reads_the_times_of_steps_alone(
    tmp_path: Path, line: str, seconds: list[float]
) -> None:
    lines = "".join(line.format(i=i) + "\n" for i in (3, 1, 2))
    made = expression(lines)
    assert made is not None
    (step,) = gc.read(file(tmp_path, "a.log", lines), regex=made, n=64, gpus=2).steps
    assert step.seconds == pytest.approx(seconds)


def test_a_rate_of_all_gpus_is_of_the_sizes_of_all(tmp_path: Path) -> None:
    log = file(tmp_path, "a.log", "100 samples/s\n")
    regex = r"(?P<rate>\d+) (?P<unit>samples/s)"
    (step,) = gc.read(log, regex=regex, n=32, gpus=2, size_of="gpu").steps
    assert (step.n, step.seconds) == (64, [pytest.approx(0.64)])


def counted(*lines: str) -> str:
    return "".join(f"{line}\n" for line in lines)


def read_counted(folder: Path, text: str) -> gc.Dataset:
    return gc.read(file(folder, "a.log", text), regex=r"(?P<seconds>[\d.]+) s\b", n=64, gpus=2)


def test_the_slow_first_steps_of_any_log_warm_up_and_ranks_lines_are_one(tmp_path: Path) -> None:
    times = {1: (9.5, 9.4), 2: (0.51, 0.55), 3: (0.52, 0.5), 4: (0.5, 0.53)}
    text = counted(*(f"step {at}: {time} s" for at, both in times.items() for time in both))
    (step,) = read_counted(tmp_path, text).steps
    assert step.seconds == [0.55, 0.52, 0.53]
    again = counted("step 2: 8.5 s", "step 3: 0.54 s", "step 4: 0.56 s")
    (step,) = read_counted(tmp_path, text + again).steps
    assert step.seconds == [0.55, 0.52, 0.53, 0.54, 0.56]
    for count in "[{}/9]", "  {}":
        few = counted(*(f"{count.format(at)} {at // 2}.5 s" for at in (9, 11, 12)))
        assert read_counted(tmp_path, few).steps[0].seconds == [4.5, 5.5, 6.5]
        slow = counted(
            *(f"{count.format(at)} {time} s" for at, time in ((1, 9.5), (2, 0.5), (3, 0.4)))
        )
        assert read_counted(tmp_path, slow).steps[0].seconds == [0.5, 0.4]


def test_times_that_the_lines_own_clock_contradicts_are_said(tmp_path: Path) -> None:
    lines = [f"12:00:{at:02} step {at}: 0.{at}5 s" for at in (10, 20, 30)]
    (told,) = read_counted(tmp_path, counted(*lines)).warnings
    assert "a step takes 1 s by the time of day of its lines, but 205 ms by --regex" in told


def test_lines_of_iterations_of_which_several_make_a_step_say_so(tmp_path: Path) -> None:
    text = counted(*(f"iter {at} step {at // 4}: iter time 0.5{at} s" for at in range(1, 10)))
    (told,) = read_counted(tmp_path, text).warnings
    assert "its lines count 9 iterations to 2 steps: a time is taken for one iteration" in told


@pytest.mark.parametrize(
    "text",
    [
        "ExecutionTime = 12.3 s\nExecutionTime = 24.5 s\nExecutionTime = 36.1 s\n",  # grows
        "data time: 0.5 s\ndata time: 0.4 s\n",
        "12 apples\n13 apples\n",
        "cycle=1 time=0.5 dt=0.1\ncycle=2 time=0.4 dt=0.1\n",  # simulated
        "Time step # 1500\n",
        "Iter: 10, Δt: 12.5 seconds\nIter: 20, Δt: 6.0 seconds\n",  # simulated, too
        "",
    ],
)
def test_no_expression_is_made_of_what_is_no_step_time(text: str) -> None:
    assert expression(text) is None


def test_the_formats_are_listed(run: Run) -> None:
    status, out, _ = run("import", "--formats")
    assert status == 0
    assert re.search("^megatron +Megatron-LM's training log", out, re.MULTILINE)
    assert re.search("^trace +traces", out, re.MULTILINE)
