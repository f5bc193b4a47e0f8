"""``gpucast doctor`` finds what is installed, and advises on the rest."""

import os
import re

import pytest

from command_line import Run, only_json
from gpucast.measure import doctor
from gpucast.measure.doctor import Finding

GPU = ["NVIDIA H200", "143771 MiB", "580.1", "GPU-1"]


def found(monkeypatch: pytest.MonkeyPatch, **answers: list[list[str]]) -> dict[str, Finding]:
    """Findings on a machine with these answers of nvidia-smi, by the first word of a request."""

    def nvidia_smi(query: str) -> list[list[str]]:
        words = {"query-gpu=name": "gpus", "query-compute-apps": "running"}
        key = next((name for word, name in words.items() if word in query), "clocks")
        return answers.get(key, [])

    monkeypatch.setattr(doctor, "nvidia_smi", nvidia_smi)
    return {finding.what: finding for finding in doctor.findings()}


def test_a_machine_without_gpus_is_told_what_it_can_do(monkeypatch: pytest.MonkeyPatch) -> None:
    told = found(monkeypatch)
    assert (told["GPUs"].state, told["GPUs"].found) == ("missing", "nvidia-smi lists none")
    assert "CPU threads" in told["GPUs"].advice
    assert "clocks" not in told


def test_gpus_are_counted_by_kind_with_memory_and_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    told = found(monkeypatch, gpus=[GPU, GPU], clocks=[["Enabled", "1980 MHz", "0x0"]])
    assert told["GPUs"].found == "2 x NVIDIA H200, 143771 MiB, driver 580.1"
    assert told["other users"].state == "good"
    assert (told["clocks"].state, told["clocks"].found) == ("good", "up to 1980 MHz")


def test_other_users_and_slow_clocks_are_in_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    told = found(
        monkeypatch,
        gpus=[GPU],
        running=[["4194305", "100 MiB"], [str(os.getpid()), "100 MiB"]],
        clocks=[["Enabled", "1980 MHz", "0x0000000000000020"]],
    )
    assert told["other users"].state == "attention"
    assert told["other users"].found == "1 process on the GPUs"
    assert "held down by heat or power" in told["clocks"].found


@pytest.mark.parametrize(("load", "state"), [(0.1, "good"), (1000.0, "attention")])
def test_a_busy_machine_is_said(monkeypatch: pytest.MonkeyPatch, load: float, state: str) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (load, load, load))
    assert found(monkeypatch)["CPUs"].state == state


@pytest.mark.parametrize(
    ("servers", "what", "said"),
    [
        ("127.0.0.1:9", "server", ""),
        ("", "server", "GPUCAST_REMOTE: it is empty: name servers, host:port,..."),
        ("127.0.0.1:9, 127.0.0.1:9", "devices", "named more than once: 127.0.0.1:9 2 times"),
    ],
)
def test_servers_that_cannot_be_used_are_exit_status_2(
    run: Run, monkeypatch: pytest.MonkeyPatch, servers: str, what: str, said: str
) -> None:
    monkeypatch.setenv("GPUCAST_REMOTE", servers)
    status, out, _ = run("doctor", "--json")
    assert status == 2
    (finding,) = [known for known in only_json(out)["findings"] if known["what"].startswith(what)]
    assert finding["state"] == "attention"
    assert finding["found"].startswith(said)


def test_people_get_a_table_and_what_to_do(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GPUCAST_REMOTE", raising=False)
    monkeypatch.setattr(doctor, "nvidia_smi", lambda query: [])
    status, out, err = run("doctor")
    assert (status, err) == (0, "")
    assert re.search("^no +GPUs +nvidia-smi lists none$", out, re.MULTILINE)
    assert "GPUs: none is needed to fit and forecast" in out
