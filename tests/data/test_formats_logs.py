"""Logs of other programs become steps; what a log leaves unclear is asked, never guessed.

Samples in ``logs/`` are made up, in the form of the programs' output; expected figures are worked
out by hand beside them.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpucast as gc
from command_line import Run, only_json
from counting import Calls
from gpucast.data.formats import Format, Imported, Options, formats, printed, read_file, recognized
from gpucast.data.formats.logs import runs
from gpucast.data.formats.logs.log import Log, Part, positive
from gpucast.data.records import Step
from gpucast.data.wording import in_words
from gpucast.errors import InputError
from gpucast.util.remarks import texts_of

JOB = {"name": "j", "n": 1e6, "steps": 1e6}
LOGS = Path(__file__).parent / "logs"
TRAINING = r"world size (?P<gpus>\d+)|global batch (?P<n>\d+)|(?P<rate>[\d.,]+) (?P<unit>samples/s)"
FORMATS = {
    file.stem: max((name for name in formats() if file.stem.startswith(name)), key=len)
    for file in sorted(LOGS.iterdir())
    if file.stem != "training"
}
"""Format of each sample, with which its name begins; that of training needs --regex."""


def path_of(name: str) -> Path:
    return next(LOGS.glob(f"{name}.*"))


def imported(name: str, **options: Any) -> Imported:
    return read_file(str(path_of(name)), Options(**options))[0]


def steps(name: str, **options: Any) -> list[Step]:
    return [each for each in imported(name, **options).entries if isinstance(each, Step)]


def step(name: str, **options: Any) -> Step:
    (only,) = steps(name, **options)
    return only


def read_text(text: str, form: str, **options: Any) -> Imported:
    return formats()[form].read(text, "a.log", Options(**options))


def edited(name: str, old: str, new: str) -> str:
    text = path_of(name).read_text()
    assert old in text
    return text.replace(old, new)


def asked(name: str, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        imported(name, **options)
    message = str(caught.value)
    assert message.startswith(str(path_of(name)))
    assert "\n" not in message
    return message


@pytest.mark.parametrize("name", FORMATS)
def test_a_log_is_known_by_its_content(name: str) -> None:
    found = recognized(path_of(name).read_bytes(), name, Options())
    assert found is not None
    assert found.name == FORMATS[name]


# LAMMPS


def test_lammps_takes_the_last_run_and_the_listed_devices() -> None:
    run = step("lammps-gpu-screen")
    assert run.seconds == [2.46912 / 1000]  # loop time over steps
    assert (run.n, run.unit, run.gpus, run.ranks, run.nodes) == (108000, "atoms", 2, 4, 1)
    assert (run.path, run.program) == ("native", "LAMMPS")
    assert run.case == "2 Aug 2023 - Update 3, lj/cut, GPU package, mixed precision"
    assert run.timestep == 2e-15  # metal: picoseconds
    assert run.uncertainty == pytest.approx(0.000005 / 2.46912)


def test_lammps_keeps_every_run_when_asked() -> None:
    first, second = steps("lammps-gpu-screen", every_run=True)
    assert (first.seconds, second.seconds) == ([0.5 / 100], [2.46912 / 1000])
    assert "holds several runs: 1 before" in str(imported("lammps-gpu-screen").remarks[0])


def test_lammps_gives_no_gpu_time_where_ranks_share_a_device() -> None:
    shared = step("lammps-gpu-screen").phases
    assert shared is not None
    assert (shared.kernel, shared.exchange) == (None, [0.8 / 1000])
    own = step("lammps-own-device-screen").phases
    assert own is not None
    assert own.kernel == [(0.1 + 1.5) / 200]
    assert own.cpu == [pytest.approx((0.05 + 0.3 + 0.05 + 0.6) / 200)]
    assert own.exchange == [0.8 / 200]


def test_lammps_log_of_the_gpu_package_asks_for_gpus() -> None:
    assert "--gpus: the GPU package ran, but no line lists its devices" in asked("lammps-gpu-log")
    assert step("lammps-gpu-log", gpus=2).gpus == 2


def test_lammps_log_echoes_the_pair_style_with_its_cutoff() -> None:
    run = step("lammps-gpu-log", gpus=2)
    assert run.case == "2 Aug 2023 - Update 3, lj/cut 2.5"
    assert run.timestep == 2e-15


def test_lammps_asks_where_one_device_is_listed_under_several_ranks() -> None:
    text = edited("lammps-gpu-screen", "Device 1: Example GPU 40GB, 108 CUs, 1.4 GHZ", "-")
    text = text.replace("with 2 proc(s)", "with 3 proc(s)")
    with pytest.raises(InputError, match="lists 1 device under 4 ranks"):
        read_text(text, "lammps")


def test_lammps_believes_that_all_ranks_share_one_device_and_says_so() -> None:
    text = edited("lammps-gpu-screen", "Device 1: Example GPU 40GB, 108 CUs, 1.4 GHZ", "-")
    found = read_text(text.replace("with 2 proc(s)", "with 4 proc(s)"), "lammps")
    (run,) = found.entries
    assert isinstance(run, Step)
    assert (run.gpus, run.nodes, run.ranks) == (1, 1, 4)
    assert any("4 ranks share 1 device: read as 1 GPU" in one.text for one in found.remarks)


def test_lammps_asks_where_the_other_nodes_differ() -> None:
    # Two devices with 3 ranks each are 6 of 7 ranks.
    text = edited("lammps-gpu-screen", "with 2 proc(s)", "with 3 proc(s)")
    text = text.replace("4 MPI tasks", "7 MPI tasks")
    with pytest.raises(InputError, match="of 7 ranks in all"):
        read_text(text, "lammps")


def test_lammps_counts_nodes_alike_and_says_so() -> None:
    found = read_text(edited("lammps-gpu-screen", "4 MPI tasks", "8 MPI tasks"), "lammps")
    (run,) = found.entries
    assert isinstance(run, Step)
    assert (run.gpus, run.nodes, run.ranks) == (4, 2, 8)
    assert any("read as 2 nodes alike, 4 GPUs" in line for line in texts_of(found.remarks))


def test_lammps_kokkos_has_a_gpu_for_each_rank_and_no_split() -> None:
    run = step("lammps-kokkos")  # the minimization before it is no run of steps
    assert (run.seconds, run.gpus, run.ranks, run.phases) == ([0.0025], 4, 4, None)
    assert run.timestep == 2e-15


@pytest.mark.parametrize("limit", [1, 3])
def test_lammps_kokkos_asks_where_ranks_may_share_gpus(limit: int) -> None:
    text = edited("lammps-kokkos", "up to 4 GPU", f"up to {limit} GPU")
    with pytest.raises(InputError, match="--gpus: 4 ranks with up to"):
        read_text(text, "lammps")


def test_lammps_without_gpus_ran_on_cores_and_its_crash_is_told() -> None:
    found = imported("lammps-cpu")
    (run,) = found.entries
    assert isinstance(run, Step)
    assert (run.path, run.gpus, run.ranks, run.timestep) == ("host", 8, 4, None)
    assert run.phases is not None
    assert run.phases.exchange == [0.5 / 100]
    assert run.phases.kernel == [pytest.approx((7.5 + 1.1 + 1.0) / 100)]
    assert any("1 run without a final time" in line for line in texts_of(found.remarks))


def test_the_user_overrules_a_single_log() -> None:
    run = step("lammps-cpu", gpus=2, overrule=True)
    assert (run.path, run.gpus) == ("native", 2)


@pytest.mark.parametrize("column", ["ns_per_day", "timestep_in_fs", "time steps per second"])
def test_a_table_with_a_column_of_that_name_is_no_log(column: str) -> None:
    found = recognized(f"atoms,ngpu,{column}\n1000,1,100\n".encode(), "a.csv", Options())
    assert found is not None
    assert found.name == "csv"


def test_gpus_of_a_node_complete_logs_that_say_their_nodes(tmp_path: Path) -> None:
    """The count of all GPUs would make runs on one and on two nodes the same cell."""
    text = path_of("gromacs-hidden-gpus").read_text()
    logs = []
    for nodes in (1, 2):
        logs.append(tmp_path / f"{nodes}.log")
        logs[-1].write_text(
            text.replace("on 1 node with", f"on {nodes} nodes with")
            .replace("Using 8 MPI", f"Using {8 * nodes} MPI")
            .replace("70.403", f"{70.403 * nodes}")
        )
    found = gc.read(*logs, gpus_per_node=8)
    assert [(step.nodes, step.gpus) for step in found.steps] == [(1, 8), (2, 16)]
    with pytest.raises(InputError, match=r"these are on 1, 2 nodes; .* --gpus-per-node 8"):
        gc.read(*logs, gpus=8)
    with pytest.raises(InputError, match="--gpus-per-node: is beside --gpus"):
        gc.read(*logs, gpus=8, gpus_per_node=8)


# GROMACS


def test_gromacs_counts_steps_after_the_reset() -> None:
    run = step("gromacs")
    # 16.000 s over 20,000 calls of Force; 2.5 fs at 270 ns/day is the same 0.8 ms.
    assert run.seconds == [16.0 / 20000]
    assert (run.n, run.gpus, run.ranks, run.nodes) == (81743, 4, 4, 1)
    assert run.timestep == 2.5e-15
    assert run.case == "2024.1, mixed, PME, rcoulomb 1 nm"


def test_gromacs_splits_host_and_communication_without_the_pme_rank() -> None:
    phases = step("gromacs").phases
    assert phases is not None
    assert phases.cpu == [pytest.approx((0.4 + 0.3 + 1.0 + 0.2) / 20000)]
    assert phases.exchange == [pytest.approx((1.5 + 2.0 + 0.5 + 0.0) / 20000)]
    assert phases.kernel is None


def test_gromacs_until_2022_names_the_accounting_otherwise() -> None:
    (run,) = read_text(edited("gromacs", " Activity:", " Computing:"), "gromacs").entries
    assert isinstance(run, Step)
    assert run.phases == step("gromacs").phases
    (run,) = read_text(edited("gromacs", " Activity:", " Something:"), "gromacs").entries
    assert isinstance(run, Step)
    assert run.phases is None


def test_gromacs_without_gpus_works_on_cores() -> None:
    lines = path_of("gromacs").read_text().splitlines(keepends=True)
    text = "".join(line for line in lines if "selected for" not in line and "Mapping" not in line)
    (run,) = read_text(text, "gromacs").entries
    assert isinstance(run, Step)
    assert run.path == "host"
    assert run.phases is not None
    assert run.phases.cpu is None
    assert run.phases.kernel == [pytest.approx((0.4 + 0.3 + 1.0 + 0.2 + 3.0) / 20000)]
    assert run.phases.exchange == [pytest.approx((1.5 + 2.0 + 0.5 + 0.0) / 20000)]


@pytest.mark.parametrize("threads", [1, 7, 16])
@pytest.mark.parametrize("before", ["", "On host node7 "])
def test_gromacs_of_one_rank_and_one_gpu_is_one_gpu(before: str, threads: int) -> None:
    text = path_of("gromacs-hidden-gpus").read_text()
    text = re.sub("On host node7 1 GPU", f"{before}1 GPU", text)
    text = re.sub("the 8 GPU tasks in the 8 ranks", "the 2 GPU tasks in the 1 rank", text)
    text = re.sub("  PP:0,.*", "  PP:0,PME:0", text)
    threads_line = f"Using 1 MPI thread\nUsing {threads} OpenMP threads \n"
    text = text.replace("Using 8 MPI processes\n", threads_line)
    (run,) = read_text(text, "gromacs").entries
    assert isinstance(run, Step)
    assert (run.gpus, run.ranks, run.nodes, run.path) == (1, 1, 1, "native")


@pytest.mark.parametrize("support", ["CUDA", "OpenCL", "disabled"])
def test_gromacs_built_for_gpus_that_used_none_ran_on_cores(support: str) -> None:
    """The log says nothing further about the GPU that it detected."""
    text = path_of("gromacs-hidden-gpus").read_text()
    text = re.sub("On host node7 1 GPU.*\\n|Mapping of GPU.*\\n|  PP:0.*\\n", "", text)
    text = text.replace("Using 8 MPI processes\n", "Using 1 MPI thread\nUsing 12 OpenMP threads \n")
    detected = (
        f"GPU support:        {support}\n    #0: NVIDIA A100-SXM4, compute cap.: 8.0\nRunning on"
    )
    found = read_text(text.replace("Running on", detected), "gromacs")
    (run,) = found.entries
    assert isinstance(run, Step)
    assert (run.gpus, run.path, found.machine) == (12, "host", {})
    said = ["a.log: built for GPUs, but used none: taken as a run on processor cores, path host"]
    assert texts_of(found.remarks) == (said if support != "disabled" else [])
    assert "; 12 cores; " in in_words(found.entries)[0]


def test_gromacs_on_gpus_that_no_line_counts_is_asked_about() -> None:
    text = edited("gromacs", "GPUs selected for", "accelerators picked for")
    with pytest.raises(InputError, match="--gpus: works on GPUs, but no line says how many"):
        read_text(text, "gromacs")


def test_gromacs_asks_where_every_rank_names_the_same_gpu() -> None:
    assert "--gpus: all 8 ranks of a node name the same GPU" in asked("gromacs-hidden-gpus")


def test_gromacs_reads_the_column_that_the_header_names() -> None:
    run = step("gromacs-hidden-gpus", gpus=8)
    assert run.seconds == [pytest.approx(2e-6 * 86400 / 70.403)]  # 2 fs in ns, s a day


def test_gromacs_multiplies_the_first_node_by_all() -> None:
    text = edited("gromacs", "Running on 1 node ", "Running on 2 nodes ")
    text = text.replace("Using 4 MPI", "Using 8 MPI")
    (run,) = read_text(text, "gromacs").entries
    assert isinstance(run, Step)
    assert (run.gpus, run.nodes) == (8, 2)


def test_gromacs_believes_the_rate_where_the_accounting_contradicts_it() -> None:
    (run,) = read_text(
        edited("gromacs", " 20000       0.200", " 10000       0.200"), "gromacs"
    ).entries
    assert isinstance(run, Step)
    assert run.seconds == [pytest.approx(0.0008)]


# OpenMM


def test_openmm_reporter_takes_differences_of_rows() -> None:
    run = step("openmm-reporter", gpus=1, size=92224)
    assert run.seconds == [pytest.approx(2.0 / 1000), pytest.approx(2.05 / 1000),
                           pytest.approx(2.0 / 1000)]  # fmt: skip
    assert (run.n, run.gpus, run.timestep) == (92224, 1, 4e-15)


def test_openmm_reporter_falls_back_on_the_last_speed() -> None:
    run = step("openmm-reporter-speed", gpus=1, size=5000)
    assert run.seconds == [pytest.approx(2e-6 * 86400 / 80)]


def test_openmm_reporter_asks_for_gpus_and_size_at_once() -> None:
    message = asked("openmm-reporter")
    assert "--gpus" in message
    assert "with -n" in message
    assert "-n: OpenMM does not say the size (atoms)" in asked("openmm-reporter", gpus=1)


def test_openmm_reads_decimal_commas_of_a_resaved_table() -> None:
    text = path_of("openmm-reporter").read_text().replace("\t", ";").replace(".", ",")
    text = text.replace(",0%", ",0 %")
    (run,) = read_text(text, "openmm-reporter", gpus=1, size=1000).entries
    assert isinstance(run, Step)
    assert run.seconds[0] == pytest.approx(2.0 / 1000)


def test_openmm_benchmark_counts_device_ids_and_knows_the_tests_sizes() -> None:
    stmv, gbsa = steps("openmm-benchmark-simple")
    assert (stmv.n, stmv.gpus, stmv.seconds) == (1067095, 2, [20.5 / 5000])
    assert stmv.case == "8.1.1, PME, mixed, NVT"
    assert (gbsa.n, gbsa.gpus, gbsa.seconds) == (2489, 1, [5.0 / 20000])


def test_openmm_benchmark_json_may_state_atoms() -> None:
    water, host = steps("openmm-benchmark")
    assert (water.n, water.gpus, water.seconds, water.timestep) == (96000, 1, [0.002], 2e-15)
    assert (host.path, host.gpus) == ("host", 16)


def test_openmm_benchmark_table_names_no_device() -> None:
    assert "--gpus: test 'pme' does not say on which devices" in asked("openmm-benchmark-table")
    pme, apoa1 = steps("openmm-benchmark-table", gpus=1)
    assert (pme.n, pme.seconds) == (23558, [pytest.approx(4e-6 * 86400 / 864)])
    assert (apoa1.n, apoa1.seconds) == (92224, [pytest.approx(4e-6 * 86400 / 345.6)])


def test_openmm_benchmark_repeated_is_measured_again() -> None:
    text = path_of("openmm-benchmark-simple").read_text()
    entries = read_text(text + text, "openmm").entries
    assert [entry.n for entry in entries if isinstance(entry, Step)] == [1067095, 2489] * 2


def test_openmm_7_counts_the_devices_of_the_header() -> None:
    pme, gbsa = steps("openmm-benchmark-7")
    assert (pme.gpus, pme.n, pme.seconds, pme.timestep) == (2, 23558, [60 / 150000], 4e-15)
    assert (gbsa.n, gbsa.seconds) == (2489, [50 / 400000])


# NAMD


def test_namd_counts_devices_of_hosts_and_leaves_out_the_first_benchmark() -> None:
    run = step("namd2-two-nodes")
    assert run.seconds == [0.0122, 0.0120]
    assert (run.n, run.gpus, run.ranks, run.nodes) == (92224, 4, 4, 2)
    assert (run.timestep, run.case) == (2e-15, "2.12, cutoff 12 A")


def test_namd_takes_wall_times_where_no_benchmark_was_printed() -> None:
    run = step("namd3")
    assert run.seconds == [0.0104, 0.0106]
    assert (run.gpus, run.timestep) == (1, 4e-15)


def test_namd_asks_where_machines_are_not_listed() -> None:
    text = edited("namd2-two-nodes", "2 physical nodes", "3 physical nodes")
    with pytest.raises(InputError, match="--gpus: lists the devices of 2 of 3 machines"):
        read_text(text, "namd")


def test_namd_reads_s_per_step_whatever_follows() -> None:
    days = edited("namd2-two-nodes", "0.0694444 days/ns", "14.4 ns/day")
    (run,) = read_text(days, "namd").entries
    assert isinstance(run, Step)
    assert run.seconds[-1] == 0.0120


# AMBER


def test_amber_takes_all_steps_and_only_devices_in_use() -> None:
    run = step("amber-mdout")
    assert run.seconds == [123.40 / 50000]
    assert (run.n, run.gpus, run.timestep) == (408609, 1, 4e-15)
    assert run.case == "22, SPFP, cutoff 9 A"


def test_amber_counts_task_ids() -> None:
    run = step("amber-mdout-two-gpus")
    assert (run.gpus, run.ranks, run.seconds) == (2, 2, [4.40 / 10000])


def test_amber_mdinfo_counts_completed_steps_and_asks_for_the_rest() -> None:
    assert "mdinfo does not name the GPUs" in asked("amber-mdinfo")
    run = step("amber-mdinfo", gpus=1, size=50000)
    assert run.seconds == [68.0 / 85000]


# HOOMD-blue


def test_hoomd_benchmark_repetitions_are_samples() -> None:
    run = step("hoomd-benchmark", gpus=2, size=64000)
    assert run.seconds == [1 / 4000, 1 / 4096, 1 / 4000]


def test_hoomd_2_says_particles_and_gpus() -> None:
    run = step("hoomd-2")
    assert (run.n, run.gpus, run.seconds, run.case) == (64000, 2, [1 / 2500.5], "2.9.7")


def test_hoomd_takes_a_bare_number_when_told() -> None:
    (run,) = read_text("4246.912\n", "hoomd", gpus=1, size=1e6).entries
    assert isinstance(run, Step)
    assert run.seconds == [1 / 4246.912]


def test_hoomd_refuses_trial_moves() -> None:
    with pytest.raises(InputError, match=r"a\.log:2: counts trial moves"):
        read_text("..\n.. 12.5 trial moves per second per particle\n", "hoomd")


# Collectives and messages


def test_nccl_tests_are_steps_of_bytes() -> None:
    runs = steps("nccl-tests")
    assert [(run.n, run.seconds) for run in runs] == [
        (8, [25e-6]), (1048576, [50e-6]), (33554432, [400e-6]),
    ]  # fmt: skip
    assert {(run.gpus, run.nodes, run.unit) for run in runs} == {(4, 2, "B")}
    # 125.83 / 83.89 is 1.5, the 2 (4 - 1) / 4 of an all-reduce.
    assert {run.program for run in runs} == {"nccl-tests all_reduce"}


def test_a_collective_is_no_work_that_more_gpus_share_out() -> None:
    data = gc.read(path_of("nccl-tests"))
    assert {step.workload.name for step in data.steps if step.workload} == {"all_reduce"}
    assert not any(step.workload is None or step.workload.is_shared_out for step in data.steps)
    model = gc.fit(data)
    assert any("share out: other GPU counts are not forecast" in line for line in model.warnings)
    twice = model.forecasts([67108864], [4])
    assert twice.low[0] < 800e-6 < twice.high[0]
    for asked in (
        lambda: model.forecasts([33554432] * 2, [4, 32]),
        lambda: model.seconds(np.array([1e6]), np.array([2.0])),
        lambda: model.draws(np.array([1e6]), np.array([8.0]), 4),
    ):
        with pytest.raises(InputError, match=r"on the 4 GPUs measured, nothing on (32|2|8)"):
            asked()


def test_no_count_is_best_for_a_collective(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "m.json"
    gc.fit(gc.read(path_of("nccl-tests"))).save(file)
    status, out, _ = run("predict", file, "-n", "1e6", "--json")
    assert status == 0
    assert [row["gpus"] for row in only_json(out)["forecast"]] == [4]
    assert only_json(out)["best"] == []
    assert "best" not in run("predict", file, "-n", "1e6")[1]
    plan = {"machines": [{"name": "a", "model": str(file), "gpus": 4}], "jobs": [JOB]}
    (tmp_path / "plan.yaml").write_text(json.dumps(plan))
    for command in (
        ("predict", file, "-n", "1e6", "--best"),
        ("report", file, "-o", tmp_path / "r.html", "--gpus", "4"),
        ("compare", file, file, "-n", "1e6", "--gpus", "4"),
        ("plan", tmp_path / "plan.yaml"),
    ):
        status, _, err = run(*command)
        assert status == 2
        assert "all_reduce is no work that GPUs share out: no count is best" in err


def test_a_collective_on_several_counts_is_refused_as_one_curve(tmp_path: Path) -> None:
    text = "# Collective test starting: all_reduce_perf\n" + path_of("nccl-tests").read_text()
    fewer = re.sub("#  Rank  [23].*\n", "", text)
    for name, log in ("a.txt", text), ("b.txt", fewer):
        (tmp_path / name).write_text(log)
    data = gc.read(tmp_path / "a.txt", tmp_path / "b.txt", program="all-reduce", case="float")
    with pytest.raises(InputError, match="no work that GPUs share out, and here are 2, 4 GPUs"):
        gc.fit(data)


def test_nccl_tests_in_place_come_with_every_run() -> None:
    runs = steps("nccl-tests", every_run=True)
    assert len(runs) == 6
    assert {run.case for run in runs} == {"float, sum", "float, sum, in place"}


def test_osu_latency_is_one_way_between_two() -> None:
    runs = steps("osu-latency")
    assert [(run.n, run.gpus) for run in runs] == [(1, 2), (1024, 2), (1048576, 2)]
    assert runs[0].seconds == [pytest.approx(2.75e-6)]
    assert runs[0].case == "5.9, buffers D D"


def test_osu_bandwidth_is_seconds_a_message() -> None:
    run = step("osu-bandwidth")
    assert run.seconds == [pytest.approx(1e6 / 2000e6)]
    assert run.path == "host"


def test_osu_collectives_ask_for_the_processes() -> None:
    assert "does not say how many processes took part" in asked("osu-allreduce")
    runs = steps("osu-allreduce", gpus=16)
    assert [run.gpus for run in runs] == [16, 16]
    assert not any(run.workload is None or run.workload.is_shared_out for run in runs)


# Grids


def test_carpetx_differences_its_sums_and_leaves_out_the_first_iteration() -> None:
    run = step("carpetx")
    assert run.seconds == [pytest.approx(0.2), pytest.approx(0.21)]
    assert (run.n, run.unit, run.gpus, run.ranks) == (16777216 + 2097152, "cells", 16, 16)


def test_carpetx_asks_where_amrex_names_no_device() -> None:
    text = edited("carpetx", "HIP initialized with 16 devices.\n", "")
    with pytest.raises(InputError, match="--gpus: no line says how many GPUs AMReX"):
        read_text(text, "carpetx")


def test_gptl_takes_the_slowest_process_of_the_step_timer() -> None:
    run = step("gptl", gpus=12, size=5400)
    assert run.seconds == [157.5 / 100]  # 1,200 calls of 12 processes
    assert (run.case, run.ranks) == ("prim_run_subcycle", 12)


def test_gptl_names_the_line_of_the_loop_that_stands_for_the_steps() -> None:
    lines = path_of("gptl").read_text().splitlines(keepends=True)
    text = "".join(line for line in lines if "prim_run" not in line)
    number = next(at for at, line in enumerate(text.splitlines(), 1) if "prim_main_loop" in line)
    with pytest.raises(InputError, match=rf"a\.log:{number}: --gpus"):
        read_text(text, "gptl")


def test_a_run_without_a_time_is_named_by_the_line_where_it_starts() -> None:
    text = path_of("amber-mdout").read_text().partition("Average timings")[0]
    (left_out,) = read_text(text, "amber").remarks
    assert left_out.text.startswith("a.log:3: 1 run without a final time")


# Regular expressions


def test_regex_carries_what_a_header_said() -> None:
    first, second = steps("training", regex=TRAINING, program="ddp")
    assert (first.n, first.gpus, first.unit, first.program) == (512, 8, "samples", "ddp")
    assert first.seconds == [512 / 1024, 512 / 2048]
    assert (second.n, second.seconds) == (1024, [1024 / 4096])


@pytest.mark.parametrize(
    ("line", "pattern", "seconds"),
    [
        ("step 12.5 ms", r"step (?P<seconds>[\d.]+) (?P<unit>ms)", 0.0125),
        ("4.00it/s", r"(?P<rate>[\d.]+)(?P<unit>it/s|s/it)", 0.25),
        ("2.50s/it", r"(?P<rate>[\d.]+)(?P<unit>it/s|s/it)", 2.5),
        ("Schritt 0,0125 s", r"Schritt (?P<seconds>[\d.,]+)", 0.0125),
        ("1.024,5 img/s", r"(?P<rate>[\d.,]+) (?P<unit>img/s)", 100 / 1024.5),
        ("86.4 ns/day", r"(?P<rate>[\d.]+) (?P<unit>ns/day)", 0.002),
    ],
)
def test_regex_understands_units_and_other_languages(
    line: str, pattern: str, seconds: float
) -> None:
    options = {"regex": pattern, "gpus": 4, "size": 100, "timestep": 2e-15}
    (run,) = read_text(f"{line}\n", "regex", **options).entries
    assert isinstance(run, Step)
    assert run.seconds == [pytest.approx(seconds)]


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (r"(?P<seconds>[", "--regex: is no regular expression"),
        (r"(?P<time>\d+)", "--regex: group 'time' is unknown; there are n, gpus"),
        (r"\d+", "--regex: has no named group"),
        (r"batch (?P<n>\d+)", "--regex: needs a group seconds or rate"),
        (r"(?P<rate>[\d.,]+) samples", "--regex: rate needs a group unit"),
        (r"(?P<rate>[\d.,]+) (?P<unit>samples)", "--regex: unit 'samples' is unknown"),
    ],
)
def test_regex_errors_name_the_option(pattern: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        imported("training", regex=pattern, gpus=1, size=1)
    assert message in str(caught.value)


def test_regex_asks_about_numbers_that_are_two() -> None:
    with pytest.raises(InputError, match="--decimal"):
        read_text("1,024 ms\n", "regex", regex=r"(?P<seconds>[\d,]+) (?P<unit>ms)", gpus=1, size=1)


IN_MICROSECONDS = "devices=2 natoms=20000\nstep 1 334.3 us\nstep 2 335.3 us\n"
OF_STEPS = r"devices=(?P<gpus>\d+) natoms=(?P<n>\d+)|step \d+ (?P<seconds>[\d.]+)"


@pytest.mark.parametrize(
    ("behind", "unit", "size"),
    [
        (" us", "us", 1e-6),
        ("µs", "us", 1e-6),
        (" [ms]", "ms", 1e-3),
        (" ms/step,", "ms", 1e-3),
        (" ns", "ns", 1e-9),
        (" seconds", "s", 1.0),
        (" (in ms, avg of 10)", "ms", 1e-3),
        (" ± 0.2 ms", "ms", 1e-3),
        (" millisek.", "ms", 1e-3),
        (" ms per step", "ms", 1e-3),
    ],
)
def test_a_unit_behind_the_seconds_of_regex_is_read_and_said(
    behind: str, unit: str, size: float
) -> None:
    text = IN_MICROSECONDS.replace(" us", behind)
    found = read_text(text, "regex", regex=OF_STEPS)
    (run,) = found.entries
    assert isinstance(run, Step)
    assert run.seconds == pytest.approx([334.3 * size, 335.3 * size])
    assert found.notes == [f"times are read as {unit}, which stands beside them"]


@pytest.mark.parametrize(
    ("before", "size"),
    [
        ("elapsed time per iteration (ms): ", 1e-3), ("time [us] = ", 1e-6), ("step_ms=", 1e-3),
        ("elapsed time per iteration (s): ", 1.0), ("elapsed (min): ", 60.0), ("loss (a): ", 1.0),
        ("ms/step: ", 1e-3), ("ms per step: ", 1e-3), ("ms/it ", 1e-3), ("time_us_per_step=", 1e-6),
        ("Dauer/Schritt (Millisek.): ", 1e-3), ("millisec. ", 1e-3), ("time in ms: ", 1e-3),
        ("p50 ms: ", 1e-3), ("(min, max) time across ranks (ms): ", 1e-3), ('"step_ms": ', 1e-3),
        ("(min, avg, max): ", 1.0), ("min ", 1.0), ("second step: ", 1.0), ("the rank's ", 1.0),
        ("region=us time=", 1.0), ("12 us, step ", 1.0), ("loss us | step ", 1.0),
        ("loss=nan,step_ms=", 1e-3),
    ],
)  # fmt: skip
def test_a_unit_before_the_seconds_of_regex_is_read(before: str, size: float) -> None:
    text = f"iteration 10/ 500 | {before}38.3 | global batch size: 512 |\n"
    pattern = re.escape(before) + r"(?P<seconds>[\d.]+) \| global batch size: +(?P<n>\d+)"
    (run,) = read_text(text, "regex", regex=pattern, gpus=8).entries
    assert isinstance(run, Step)
    assert run.seconds == [pytest.approx(38.3 * size)]


def test_more_samples_of_regex_make_no_more_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each made a new run with a copy of all samples before it."""
    calls = Calls(monkeypatch)
    calls.watch(runs.Run, "__init__")

    def reading(count: int) -> dict[str, int]:
        text = "step 0.25 s\n" * count
        options = {"regex": r"step (?P<seconds>[\d.]+)", "gpus": 1, "size": 1}
        return calls.of(lambda: read_text(text, "regex", **options))

    assert reading(10) == reading(100)


def test_two_units_beside_the_seconds_of_regex_are_asked_about() -> None:
    pattern = r"(?P<seconds>[\d.]+)"
    with pytest.raises(InputError, match=r"a\.log:1: --regex: 2\.5 has ms and s beside it"):
        read_text("time (ms): 2.5 s\n", "regex", regex=pattern, gpus=1, size=1)


@pytest.mark.parametrize("text", ["elapsed 2.5 min\n", "best_min=2.5\n"])
def test_min_that_may_be_the_least_beside_the_seconds_of_regex_is_asked_about(text: str) -> None:
    options = {"regex": r"(?P<seconds>[\d.]+)", "gpus": 1, "size": 1}
    message = r"min beside it .*seconds=seconds:min or seconds=seconds:"
    with pytest.raises(InputError, match=message):
        read_text(text, "regex", **options)
    (run,) = read_text(text, "regex", **options, columns={"seconds": "seconds:min"}).entries
    assert isinstance(run, Step)
    assert run.seconds == [150.0]


@pytest.mark.parametrize(
    "behind", ["", " usual", " us_max", "% us", " atoms", " (3 ms ago)", " (1200 tokens/s)"]
)
def test_what_is_no_unit_behind_seconds_leaves_them_seconds(behind: str) -> None:
    found = read_text(f"step 1 12.5{behind}\n", "regex", regex=OF_STEPS, gpus=1, size=10)
    (run,) = found.entries
    assert isinstance(run, Step)
    assert (run.seconds, found.notes) == ([12.5], [])


def test_a_rate_behind_seconds_is_refused() -> None:
    with pytest.raises(InputError, match=r"a.log:2: --regex: 334.3 it/s is no time; .*unit>it/s"):
        read_text(IN_MICROSECONDS.replace(" us", " it/s"), "regex", regex=OF_STEPS)


def test_long_steps_of_regex_are_asked_about_and_the_answer_is_heard() -> None:
    text = IN_MICROSECONDS.replace(" us", "")
    with pytest.raises(InputError, match=r"the median step takes .* --columns seconds=seconds:us"):
        read_text(text, "regex", regex=OF_STEPS)
    for unit, size in (("us", 1e-6), ("s", 1.0)):
        columns = {"seconds": f"seconds:{unit}"}
        found = read_text(text, "regex", regex=OF_STEPS, columns=columns)
        (run,) = found.entries
        assert isinstance(run, Step)
        assert (run.seconds, found.notes) == (pytest.approx([334.3 * size, 335.3 * size]), [])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"n": "natoms"}, "n=natoms names a table's column; beside --regex"),
        ({"seconds": "step:us"}, "seconds=seconds:UNIT"),
        ({"seconds": "seconds"}, "seconds=seconds:UNIT"),
        ({"seconds": "rate:it/s"}, "seconds=seconds:UNIT"),
        ({"seconds": "seconds:furlong"}, "unit 'furlong' is unknown"),
    ],
)
def test_columns_beside_regex_state_a_unit_or_are_refused(
    columns: dict[str, str], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        read_text(IN_MICROSECONDS, "regex", regex=OF_STEPS, columns=columns)
    assert message in str(caught.value)


# What all share


def test_a_log_is_stated_by_patterns() -> None:
    def read(part: Part) -> None:
        for match in positive(part.all("step (?P<ms>[0-9.]+) ms"), "ms"):
            part.timed(match.start(), [match["ms"]], lambda value: value / 1e3)

    log = Log(
        name="solver", what="a solver's log", read=read, program="Solver", unit="cells",
        start="^Solver ", marks=["^Solver "], case="{version}, order {order}, {unknown}",
        facts=["Solver (?P<version>[0-9.]+)", "(?P<n>[0-9]+) cells on (?P<gpus>[0-9]+) GPUs"],
        settings=["order (?P<order>[0-9])"],
    )  # fmt: skip
    text = "Solver 1.2\n500 cells on 2 GPUs\norder 1\norder 2\nstep 2.50 ms\nSolver 1.3\n"
    assert log.format.detect(text)
    assert not log.format.detect("A Solver")
    (run,) = log.parse(text).runs
    assert (run.n, run.gpus, run.seconds, run.line) == (500, 2, (0.0025,), 5)
    assert (run.case, run.uncertainty) == ("1.2, order 2", pytest.approx(0.002))


def test_help_lists_every_log(run: Run) -> None:
    shown = re.sub(r"[\s│]+", " ", run("import", "--help")[1])
    for form in formats().values():
        if form.log:
            assert re.sub(r"\s+", " ", form.what) in shown


def test_a_files_name_says_what_its_log_does_not(tmp_path: Path) -> None:
    copy = tmp_path / "64000-particles-2gpu.log"
    copy.write_bytes(path_of("hoomd-benchmark").read_bytes())
    pattern = r"(?P<n>\d+)-particles-(?P<gpus>\d+)gpu"
    (run,) = read_file(str(copy), Options(from_name=pattern))[0].entries
    assert isinstance(run, Step)
    assert (run.n, run.gpus) == (64000, 2)


def test_logs_of_any_encoding_and_line_end_are_read() -> None:
    text = path_of("lammps-gpu-screen").read_text()
    spanish = "Lmod reemplaza automáticamente\n" + text
    for content in (
        spanish.encode("latin-1"),
        spanish.replace("\n", "\r\n").encode(),
        spanish.encode("utf-16"),
    ):
        (run,) = read_text(printed(content), "lammps").entries
        assert isinstance(run, Step)
        assert run.seconds == [2.46912 / 1000]


@pytest.mark.parametrize(
    ("names", "gpus"),
    [
        (("lammps-gpu-screen", "lammps-kokkos"), [2, 4]),
        (("namd2-two-nodes", "namd3"), [4, 1]),
        (("amber-mdout", "amber-mdout-two-gpus"), [1, 2]),
        (("gromacs", "gromacs"), [4, 4]),
        (("carpetx", "carpetx"), [16, 16]),
    ],
)
def test_a_job_that_ran_a_program_twice_has_both_runs(names: list[str], gpus: list[int]) -> None:
    job = "".join(path_of(name).read_text() for name in names)
    entries = read_text(job, FORMATS[names[0]]).entries
    assert [entry.gpus for entry in entries if isinstance(entry, Step)] == gpus


def test_a_job_that_ran_nccl_tests_twice_has_both_tables() -> None:
    text = path_of("nccl-tests").read_text()
    fewer = "".join(line for line in text.splitlines(keepends=True) if "Rank  3" not in line)
    entries = read_text(text + fewer, "nccl-tests").entries
    assert [entry.gpus for entry in entries if isinstance(entry, Step)] == [4, 4, 4, 3, 3, 3]


SAMPLES = {name: printed(path_of(name).read_bytes()) for name in FORMATS}
GENEROUS = Options(gpus=2, size=1000, timestep=2e-15, every_run=True)


@given(st.sampled_from(sorted(FORMATS)), st.data())
def test_a_log_cut_off_anywhere_gives_whole_runs_or_one_error(name: str, data: Any) -> None:
    text = SAMPLES[name]
    cut = text[: data.draw(st.integers(0, len(text)))]
    reader = formats()[FORMATS[name]]
    reader.detect(cut)
    found = read_unless_refused(reader, cut)
    whole = {sample for entry in read_unless_refused(reader, text) for sample in entry.seconds}
    samples = {f"{sample:.9g}" for entry in found for sample in entry.seconds}
    assert samples <= {f"{sample:.9g}" for sample in whole | EARLY.get(name, set())}


@pytest.mark.parametrize("figure", ["9" * 5000, "1" + "0" * 400, "0", "1e999"])
@pytest.mark.parametrize("name", FORMATS)
def test_figures_that_cannot_be_are_refused_or_left_out(name: str, figure: str) -> None:
    reader = formats()[FORMATS[name]]
    text = SAMPLES[name]
    for number in sorted(set(re.findall(r"[0-9.]{2,}", text)))[:60]:
        for step in read_unless_refused(reader, text.replace(number, figure)):
            assert all(0 < sample < float("inf") for sample in step.seconds)


def read_unless_refused(reader: Format, text: str) -> list[Step]:
    """The steps of a text; none where an error of one line refuses it."""
    try:
        of_node = replace(GENEROUS, gpus=None, gpus_per_node=2)
        options = of_node if reader.name == "mdbenchmark" else GENEROUS
        entries = reader.read(text, "a.log", options).entries
    except InputError as error:
        message = str(error)
    else:
        return [each for each in entries if isinstance(each, Step)]
    assert "\n" not in message
    return []


EARLY = {
    "carpetx": {0.3},
    "gptl": {158.096},
    "namd2-two-nodes": {0.0132},
    "namd3": {0.0108},
    "openmm-reporter-speed": {2e-6 * 86400 / 86.4},
}
"""What stands in for better figures until they are printed: a first iteration or benchmark, the
timer of all steps, an earlier average."""


@given(st.sampled_from(sorted(FORMATS)), st.data())
def test_a_damaged_log_gives_records_or_one_error(name: str, data: Any) -> None:
    text = SAMPLES[name]
    at = data.draw(st.integers(0, len(text) - 1))
    damage = data.draw(st.text("0123456789.eE+-:, \n\0\"'[]{}", max_size=6))
    length = data.draw(st.integers(0, 40))
    reader = formats()[FORMATS[name]]
    broken = text[:at] + damage + text[at + length :]
    reader.detect(broken)
    found = read_unless_refused(reader, broken)
    assert all(0 < sample < float("inf") for entry in found for sample in entry.seconds)
