"""What the user says to sbatch, and what each job asks for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpucast.errors import InputError
from gpucast.measure.described.slurm.options import Shape, parse, words_of

TIMES = [
    ("90", 5400),
    ("10:30", 630),
    ("1:00:00", 3600),
    ("1-0", 86400),
    ("2-3", 2 * 86400 + 3 * 3600),
    ("1-12:30", 86400 + 12 * 3600 + 1800),
    ("0-00:05:00", 300),
]


@pytest.mark.parametrize(("text", "seconds"), TIMES)
def test_time_limits_are_read_as_slurm_reads_them(text: str, seconds: float) -> None:
    assert parse(f"--time={text}").seconds == seconds


@given(
    days=st.integers(0, 30), hours=st.integers(1, 23), minutes=st.integers(0, 59),
    seconds=st.integers(0, 59),
)  # fmt: skip
def test_any_time_with_days(days: int, hours: int, minutes: int, seconds: int) -> None:
    text = f"{days}-{hours:02}:{minutes:02}:{seconds:02}"
    assert parse(f"-t {text}").seconds == ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def test_options_are_written_in_any_of_sbatchs_ways() -> None:
    options = parse("-p gpu --time 1:00:00 -Amine --exclusive --comment='two words' --qos=fast")
    assert options.given == {
        "partition": "gpu", "time": "1:00:00", "account": "mine", "exclusive": True,
        "comment": "two words", "qos": "fast",
    }  # fmt: skip
    assert options.partition == "gpu"


SHAPES = [
    # path, shape, what the user says, what a job asks for beside the time
    ("native", Shape(4, 1, 0), "", "--gpus-per-node=4 --nodes=1 --ntasks-per-node=1"),
    ("native", Shape(8, 2, 8), "", "--gpus-per-node=4 --nodes=2 --ntasks-per-node=4"),
    ("native", Shape(2, 1, 0), "--gres=gpu:a100:{gpus}",
     "--gres=gpu:a100:2 --nodes=1 --ntasks-per-node=1"),
    ("native", Shape(2, 1, 2), "-n {ranks}", "--gpus-per-node=2 --nodes=1 --ntasks=2"),
    ("host", Shape(4, 1, 0), "", "--cpus-per-task=4 --nodes=1 --ntasks-per-node=1"),
    ("host", Shape(4, 1, 4), "", "--cpus-per-task=1 --nodes=1 --ntasks-per-node=4"),
    ("host", Shape(4, 1, 0), "--exclusive", "--exclusive --nodes=1 --ntasks-per-node=1"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "shape", "said", "asked"), SHAPES)
def test_a_job_asks_for_what_its_cells_need(path: str, shape: Shape, said: str, asked: str) -> None:
    made = parse(f"--time=60 {said}").of_job(shape, path)
    assert " ".join(word for word in words_of(made) if word != "--time=60") == asked


WRONG = [
    ("--partition=gpu", "missing: --time"),
    ("--time=1", "needs 5 minutes"),
    ("--time=soon", "no time limit"),
    ("--time", "missing: --time"),
    ("--time=60 --array=0-3", "--array cannot be given"),
    ("--time=60 --output=x", "--output cannot be given"),
    ("--time=60 gpu", "'gpu'"),
    ("--time=60 -Z", "'-Z'"),
    ("--time=60 --gres=gpu:{gpu}", "unknown placeholder {gpu}"),
    ("--time='60", "quotation"),
]


@pytest.mark.parametrize(("text", "said"), WRONG)
def test_mistakes_are_said_in_a_line(text: str, said: str) -> None:
    with pytest.raises(InputError, match="--slurm") as caught:
        parse(text)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
