"""Folders of logs are read as one; files of unknown formats are skipped and counted."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import gpucast as gc
from gpucast.data.formats import Options
from gpucast.data.formats.several import read_files
from gpucast.data.records import Step
from gpucast.errors import InputError

LOGS = Path(__file__).parent / "logs"


def put(folder: Path, **logs: str) -> Path:
    for name, sample in logs.items():
        shutil.copy(LOGS / f"{sample}.txt", folder / f"{name}.log")
    return folder


def steps(folder: Path) -> list[Step]:
    several = read_files([str(folder)], Options())
    return [entry for part in several.read for entry in part.imported.entries]  # type: ignore[misc]


def test_a_folder_holds_logs_of_several_programs(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    put(tmp_path, a="gromacs", b="namd3")
    put(tmp_path / "below", c="lammps-kokkos")
    assert [step.program for step in steps(tmp_path)] == ["GROMACS", "NAMD", "LAMMPS"]


def test_files_of_no_known_format_are_skipped_and_counted(tmp_path: Path) -> None:
    put(tmp_path, a="gromacs")
    (tmp_path / "topol.tpr").write_bytes(b"\0\0\0\rVERSION 2024" + bytes(100))
    (tmp_path / "README").write_text("runs of May\n")
    (tmp_path / "empty").touch()
    several = read_files([str(tmp_path)], Options())
    assert len(several.read) == 1
    assert several.notes == [f"{tmp_path}: 3 of 4 files are of no known format: skipped"]


def test_a_run_in_two_files_is_taken_once(tmp_path: Path) -> None:
    put(tmp_path, a="gromacs", b="gromacs")
    several = read_files([str(tmp_path)], Options())
    assert [part.file for part in several.read] == [str(tmp_path / "a.log")]
    (note,) = several.notes
    assert note == f"{tmp_path / 'b.log'}: the same runs as {tmp_path / 'a.log'}: left out"


def test_the_screen_says_what_the_log_of_the_same_run_does_not(tmp_path: Path) -> None:
    put(tmp_path, a="lammps-gpu-log", b="lammps-gpu-screen")
    several = read_files([str(tmp_path)], Options())
    assert [part.file for part in several.read] == [str(tmp_path / "b.log")]
    assert "a.log: the same runs as" in several.notes[0]


def test_unclear_logs_of_a_folder_are_left_out_with_the_option_that_settles_them(
    tmp_path: Path,
) -> None:
    put(tmp_path, a="gromacs", b="gromacs-hidden-gpus", c="lammps-gpu-log")
    several = read_files([str(tmp_path)], Options())
    assert [part.file for part in several.read] == [str(tmp_path / "a.log")]
    (line,) = (warning for warning in several.warnings if "left out" in warning)
    assert line.startswith(
        f"left out until --gpus is given: {tmp_path / 'b.log'}:13: --gpus: all 8 ranks"
    )
    assert line.endswith(f"; also {tmp_path / 'c.log'}")


def test_of_many_unclear_logs_the_first_are_named(tmp_path: Path) -> None:
    put(tmp_path, a="gromacs", **{f"b{at}": "gromacs-hidden-gpus" for at in range(10, 22)})
    warnings = read_files([str(tmp_path)], Options()).warnings
    (line,) = (warning for warning in warnings if "left out" in warning)
    assert line.endswith("b18.log, 3 more")


def test_wrong_files_of_a_folder_are_left_out(tmp_path: Path) -> None:
    put(tmp_path, a="gromacs")
    (tmp_path / "b.csv").write_text("n,gpus,seconds\n1000,1,zero\n")
    several = read_files([str(tmp_path)], Options())
    assert [part.file for part in several.read] == [str(tmp_path / "a.log")]
    assert "left out because they cannot be read: " in several.warnings[-1]
    assert "b.csv:2: seconds: 'zero' is not a number" in several.warnings[-1]


def test_a_folder_of_unclear_logs_alone_is_asked_about(tmp_path: Path) -> None:
    put(tmp_path, a="gromacs-hidden-gpus", b="lammps-gpu-log")
    with pytest.raises(InputError, match=r"a\.log:13: --gpus: all 8 ranks"):
        read_files([str(tmp_path)], Options())


def test_an_unclear_log_that_was_named_is_asked_about(tmp_path: Path) -> None:
    put(tmp_path, a="gromacs", b="gromacs-hidden-gpus")
    with pytest.raises(InputError, match=r"b\.log:13: --gpus: all 8 ranks"):
        read_files([str(tmp_path), str(tmp_path / "b.log")], Options())


def test_a_wrong_expression_is_no_matter_of_single_files(tmp_path: Path) -> None:
    put(tmp_path, a="gromacs")
    (tmp_path / "b.csv").write_text("n,gpus,seconds\n1000,1,2\n")
    with pytest.raises(InputError, match="--from-name: is not a regular expression"):
        read_files([str(tmp_path)], Options(from_name="("))


def test_gpus_settle_what_is_unclear_and_leave_the_rest(tmp_path: Path) -> None:
    put(tmp_path, a="gromacs", b="gromacs-hidden-gpus")
    data = gc.read(tmp_path, gpus=8)
    assert [step.gpus for step in data.steps] == [4, 8]
    assert "a.log: says gpus 4, --gpus 8: its own was used" in data.warnings[0]


def test_what_many_files_say_is_one_line(tmp_path: Path) -> None:
    text = (LOGS / "lammps-cpu.txt").read_text()
    for at in range(5):
        (tmp_path / f"{at}.log").write_text(text.replace("10.24", f"10.2{at}"))
    warnings = read_files([str(tmp_path)], Options()).warnings
    assert [line.split(",")[0] for line in warnings] == ["5 files", "5 files"]


def test_what_one_file_says_often_is_not_said_of_several(tmp_path: Path) -> None:
    metrics = "".join(f"METRIC level{at}\nDATA 7\nDATA 8\n" for at in range(5))
    (tmp_path / "e.txt").write_text(
        "PARAMETER n\nPARAMETER gpus\nPOINTS (10 1) (20 1)\n"
        f"REGION r\nMETRIC time\nDATA 1 2\nDATA 3\n{metrics}"
    )
    warnings = read_files([str(tmp_path)], Options()).warnings
    assert warnings == [f"{tmp_path / 'e.txt'}: metric 'level{at}' was left out" for at in range(5)]


def test_a_folder_without_runs_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no files"):
        read_files([str(tmp_path)], Options())
    (tmp_path / "README").write_text("runs of May\n")
    with pytest.raises(InputError, match="nothing is left to import"):
        read_files([str(tmp_path)], Options())


def test_other_gpus_in_one_folder_are_told(tmp_path: Path) -> None:
    put(tmp_path, a="gromacs", b="amber-mdout")
    several = read_files([str(tmp_path)], Options())
    assert "b.log: names other GPUs than" in several.warnings[-1]
    assert all("gpus" not in part.imported.machine for part in several.read)
