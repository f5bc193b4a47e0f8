"""Fixtures of several tests."""

import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from browsers import browser as browser  # a fixture
from command_line import Run
from gpucast.cli import main

# In a shell's background jobs SIGINT is ignored, and would be in what tests start and
# interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The speed of examples depends on the load of the machine.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command line in this process: status, stdout, stderr."""

    def command(*arguments: str | Path) -> tuple[int, str, str]:
        status = main([str(argument) for argument in arguments])
        shown = capsys.readouterr()
        return status, shown.out, shown.err

    return command


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests of remote GPUs are slow: they need a fake driver, which is built for them."""
    for item in items:
        if item.path.name.startswith("test_remote"):
            item.add_marker(pytest.mark.slow)
