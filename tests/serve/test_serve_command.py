"""``gpucast serve`` as a process: where it listens, how it ends, what it leaves."""

import re
import signal
import socket
import urllib.request
from pathlib import Path

import pytest

import gpucast
from command_line import Run, assert_refused
from serving import served

pytest.importorskip("werkzeug", reason="needs the extra serve")
pytest.importorskip("waitress", reason="needs the extra serve")

WATER = Path(gpucast.__file__).parent / "demo/water.csv"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_listens_on_this_machine_alone_and_leaves_nothing(
    tmp_path: Path, number: signal.Signals
) -> None:
    with served(temporary=tmp_path) as (process, url):
        address = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/([\w-]{32})/", url)
        assert addresses_of(int(address[1])) == {"0100007F"}  # 127.0.0.1
        assert len(list(tmp_path.iterdir())) == 1
        with urllib.request.urlopen(url, timeout=60) as answer:
            assert b"Load step times" in answer.read()
            assert "waitress" not in str(answer.headers).lower()
        process.send_signal(number)
        _, stderr = process.communicate(timeout=60)
        assert process.returncode == 0
        assert "Traceback" not in stderr
        assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_files_named_at_the_start_are_answered_at_once(tmp_path: Path) -> None:
    with served(WATER, temporary=tmp_path) as (_, url):
        with urllib.request.urlopen(url, timeout=60) as answer:
            shown = answer.read().decode()
        assert 'id="verdict"' in shown
        assert "water.csv" in shown


def test_a_file_that_cannot_be_read_is_one_line(run: Run, tmp_path: Path) -> None:
    assert_refused(run("serve", str(tmp_path / "none.csv")), "none.csv")


def test_a_port_that_is_taken_is_one_line(run: Run) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        status, out, stderr = run("serve", "--port", str(port))
    assert (status, out) == (2, "")
    assert stderr == f"gpucast: error: --port: {port}: Address already in use\n"


def addresses_of(port: int) -> set[str]:
    """The local addresses that somebody listens at on a port, as /proc has them."""
    addresses = set()
    for table in ("tcp", "tcp6"):
        for line in Path("/proc/net", table).read_text().splitlines()[1:]:
            address, _, number = line.split()[1].partition(":")
            if int(number, 16) == port and line.split()[3] == "0A":
                addresses.add(address)
    return addresses
