"""Words for what GPU counts count."""

from __future__ import annotations

from gpucast.util.devices import device


def test_gpus_are_cores_where_there_are_no_gpus() -> None:
    assert device("native").counted(1) == "1 GPU"
    assert device("remote").counted(4) == "4 GPUs"
    assert device(None).hours == "GPU hours"
    assert device("host").counted(1) == "1 core"
    assert (device("host").counted(4), device("host").hours) == ("4 cores", "core hours")
    assert device("host", 1) == device("host")


def test_runs_that_are_confined_to_several_cores_count_groups_of_them() -> None:
    assert device("host", 8).counted(1) == "1 group of 8 cores"
    assert device("host", 8).counted(2) == "2 groups of 8 cores"
    assert device("host", 8).hours == "hours of 8 cores"
    assert device("native", 8).counted(2) == "2 GPUs"
