"""The file of a campaign: its content stays, incomplete lines are removed, with one writer."""

import json
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import made_data
from gpucast.data import jsonl
from gpucast.data.records import Machine, Record
from gpucast.errors import GpucastError, InputError
from gpucast.measure.pathrun import identified
from gpucast.measure.store import Store


def record(value: dict[str, Any]) -> Record:
    return jsonl.record(value)


def line(value: dict[str, Any]) -> str:
    return jsonl.to_line(record(value)) + "\n"


MACHINE = {"kind": "machine", "id": "here/host", "host": "here", "cpu": "any"}
STEP = made_data.step(216, 1, [1e-3], machine="here/host", path="host")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data.jsonl"


def test_what_is_appended_is_there_at_once_as_a_whole_line(path: Path) -> None:
    with Store(path) as store:
        store.append(record(MACHINE))
        store.append(record(STEP))
        assert path.read_text() == line(MACHINE) + line(STEP)
    assert len(Store(path).steps("here/host", "host")) == 1


def test_a_half_last_line_is_cut_off_and_said(path: Path) -> None:
    path.write_text(line(MACHINE) + line(STEP) + line(STEP)[:-20])
    with Store(path) as store:
        (warning,) = store.warnings
    assert warning == f"{path}: its last line was cut off (a killed run); removed"
    assert path.read_text() == line(MACHINE) + line(STEP)


def test_a_file_of_nothing_but_half_a_line_begins_anew(path: Path) -> None:
    path.write_text(line(MACHINE)[:-9])
    with Store(path) as store:
        store.append(record(MACHINE))
    assert path.read_text() == line(MACHINE)


def test_a_whole_last_line_lacks_but_its_end(path: Path) -> None:
    path.write_text((line(MACHINE) + line(STEP)).rstrip("\n"))
    with Store(path) as store:
        assert store.warnings == []
        store.append(record(STEP))
    assert path.read_text() == line(MACHINE) + 2 * line(STEP)


@pytest.mark.parametrize(
    "content",
    [
        "no records\n",
        "n,gpus,seconds",
        line(MACHINE) + "{}\n",
        line(MACHINE) + '{"a\n' + line(STEP),
    ],
)
def test_a_file_that_is_not_ours_is_refused_and_left_alone(path: Path, content: str) -> None:
    path.write_text(content)
    with pytest.raises(InputError):
        Store(path)
    assert path.read_text() == content


def test_a_second_writer_is_refused(path: Path) -> None:
    with Store(path) as store:
        store.append(record(MACHINE))
        with pytest.raises(InputError, match="another program is writing to it"):
            Store(path)
    assert path.read_text() == line(MACHINE)


def test_a_new_file_without_records_is_removed_again(path: Path) -> None:
    with Store(path):
        assert path.exists()
    assert not path.exists()


def test_a_full_disk_leaves_whole_lines(path: Path) -> None:
    """A limit on the file's size stands for a full disk: the line is written only in part."""
    limit = len(line(MACHINE)) + len(line(STEP)) + 10
    script = f"""
import json, resource, signal
from gpucast.data import jsonl
from gpucast.errors import GpucastError
from gpucast.measure.store import Store
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
with Store({str(path)!r}) as store:
    for value in json.loads({json.dumps([MACHINE, STEP, STEP])!r}):
        try:
            store.append(jsonl.record(value))
        except GpucastError as error:
            print(error.exit_status, error)
"""
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert finished.stdout == f"1 {path}: File too large\n", finished.stderr
    assert path.read_text() == line(MACHINE) + line(STEP)
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != limit


def test_a_note_is_written_once(path: Path) -> None:
    with Store(path) as store:
        assert store.note(None, "host", "why", n=8)
        assert not store.note(None, "host", "why", n=8)
        assert store.note(None, "native", "why")
    assert len(path.read_text().splitlines()) == 2


def test_the_same_machine_keeps_its_id(path: Path) -> None:
    gpus = [{"name": "GPU", "cores": 128}]
    facts = {**MACHINE, "id": "of this run"}
    with Store(path) as store:

        def id_of(path: str, named: str | None = None, **other: Any) -> str:
            made = record({**facts, **other})
            assert isinstance(made, Machine)
            identity = identified(store, made, path, named)
            if all(known.id != identity.id for known in store.machines):
                store.append(identity)
            return identity.id

        host = id_of("host")
        native = id_of("native", gpus=gpus)
        assert host.endswith("/host")
        assert native == host.replace("/host", "/native")
        assert id_of("host") == host
        # The other program says more about the same GPUs.
        assert id_of("native", gpus=[{**gpus[0], "links": []}]) == native
        others = {
            id_of("native", gpus=2 * gpus),
            id_of("host", host="there"),
            id_of("host", cpu="other"),
        }
        assert len(others - {host, native}) == 3
        assert id_of("host", named="mine", host="there") == "mine/host"
        with pytest.raises(InputError, match="'mine/host' is another machine there"):
            id_of("host", named="mine", host="elsewhere")


# ---- other programs change the file ----


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def replace(path: Path) -> None:
    other = path.with_name("other")
    other.write_text("precious\n")
    other.replace(path)


TOUCHED = [
    (Path.unlink, "was removed"),
    (replace, "was replaced by another file"),
    (cut, "was changed by somebody else"),
    (lambda path: path.write_text(""), "was changed by somebody else"),
    (lambda path: path.write_text(path.read_text() + "more\n"), "was changed by somebody else"),
]


@pytest.mark.parametrize(("touch", "happened"), TOUCHED)
def test_a_file_that_somebody_touched_is_saved_beside(
    path: Path, touch: Callable[[Path], None], happened: str
) -> None:
    path.write_text(line(MACHINE))
    store = Store(path)
    store.append(record(STEP))
    touch(path)
    left = path.read_text() if path.exists() else None
    for _ in "twice":
        with pytest.raises(GpucastError) as told:
            store.append(record(STEP))
        assert told.value.exit_status == 1
        assert str(told.value) == (
            f"{path}: {happened} while it was measured into; "
            f"what was measured is saved as {path}.saved"
        )
    store.close()
    assert (path.read_text() if path.exists() else None) == left
    assert Path(f"{path}.saved").read_text() == line(MACHINE) + 2 * line(STEP)
    assert not Path(f"{path}.saved2").exists()


def test_a_file_that_is_gone_in_the_end_is_missed(path: Path) -> None:
    store = Store(path)
    store.append(record(MACHINE))
    path.unlink()
    with pytest.raises(GpucastError, match="was removed"):
        store.__exit__(None)
    assert Path(f"{path}.saved").read_text() == line(MACHINE)


def test_saving_takes_nobodys_place(path: Path) -> None:
    taken = Path(f"{path}.saved")
    taken.write_text("precious\n")
    store = Store(path)
    store.append(record(MACHINE))
    path.unlink()
    with pytest.raises(GpucastError, match=r"saved as .*\.saved2$"):
        store.sync()
    assert taken.read_text() == "precious\n"
    assert Path(f"{path}.saved2").read_text() == line(MACHINE)


def test_somebody_elses_empty_file_is_not_removed(path: Path) -> None:
    store = Store(path)
    path.rename(path.with_name("moved"))
    path.write_text("")
    store.close()
    assert path.exists()


def test_a_link_to_nowhere_is_refused(path: Path) -> None:
    path.symlink_to("nowhere")
    with pytest.raises(InputError, match="dangling link"):
        Store(path)
    assert not path.with_name("nowhere").exists()
