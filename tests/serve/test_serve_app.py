"""The local application, asked as a browser asks it, without one."""

import html
import io
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gpucast as gc
from command_line import Run, files_of
from gpucast.errors import InputError
from gpucast.model.files import load_model
from made_data import steps_alone

pytest.importorskip("werkzeug", reason="needs the extra serve")

from werkzeug.test import Client, TestResponse

from gpucast.serve import app as serving
from gpucast.serve.app import App, plain_name
from gpucast.serve.work import Order, Source, answer, apart

HOSTILE = "<img src=x onerror=alert(1)>.csv"

TABLE = "atoms,gpus,ms/step\n" + "".join(
    f"{n},{gpus},{(0.05 + n * 1e-5 / gpus + 0.02 * gpus) * noise:.6g}\n"
    for n in (1000, 10_000, 100_000)
    for gpus in (1, 2, 4)
    for noise in (0.995, 1.0, 1.005)
)
"""Steps of a program of others."""

LOCAL = "http://127.0.0.1:8000"


class Reader:
    """A browser, which has the application's address."""

    def __init__(self, folder: Path, work: Callable[[Order], Any] = answer) -> None:
        self.app = App(folder, work)
        self.client = Client(self.app)

    def get(self, name: str = "") -> TestResponse:
        return self.client.get(f"/{self.app.token}/{name}", base_url=LOCAL)

    def load(self, *files: tuple[str, str | bytes], **said: str) -> TestResponse:
        sent = [
            (io.BytesIO(content.encode() if isinstance(content, str) else content), name)
            for name, content in files
        ]
        return self.client.post(f"/{self.app.token}/", base_url=LOCAL, data={"files": sent, **said})


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reader:
    # Answers change the process's folder to that of the files: here this one's, which is put back.
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "served"
    folder.mkdir()
    return Reader(folder)


def error_of(response: TestResponse) -> str:
    alert = re.search(r'role="alert"[^>]*>([^<]*)<', response.text)
    assert alert is not None, response.text[:2000]
    return html.unescape(alert[1])


# ---- who may ask ----


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "192.168.1.2:8000"])
def test_another_name_than_this_machines_own_is_refused(reader: Reader, host: str) -> None:
    response = reader.client.get(f"/{reader.app.token}/", base_url=f"http://{host}")
    assert response.status_code == 400
    assert "Load step times" not in response.text


@pytest.mark.parametrize("host", ["127.0.0.1:1", "localhost:8888"])
def test_a_forwarded_port_is_this_machine(reader: Reader, host: str) -> None:
    response = reader.client.get(f"/{reader.app.token}/", base_url=f"http://{host}")
    assert response.status_code == 200
    assert "Load step times" in response.text


@pytest.mark.parametrize("path", ["/", "/x/", "/x/report.html", "/%C3%A9/", "//"])
def test_without_the_secret_nothing_is_shown_or_taken(reader: Reader, path: str) -> None:
    for response in (
        reader.client.get(path, base_url=LOCAL),
        reader.client.post(path, base_url=LOCAL, data={"files": (io.BytesIO(b"x"), "x.csv")}),
    ):
        assert response.status_code == 403
        assert serving.WRONG_ADDRESS in response.text
    assert not (reader.app._inbox._folder).exists()


def test_every_answer_forbids_frames_caches_and_referrers(reader: Reader) -> None:
    for response in (reader.get(), reader.get("none"), reader.client.get("/", base_url=LOCAL)):
        assert "frame-ancestors 'none'" in response.headers["Content-Security-Policy"]
        assert response.headers["Cache-Control"] == "no-store"
        assert response.headers["Referrer-Policy"] == "no-referrer"
        assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert reader.get("none").status_code == 404
    assert reader.get("../../etc/passwd").status_code in (403, 404)
    wrong = reader.client.delete(f"/{reader.app.token}/", base_url=LOCAL)
    assert wrong.status_code == 405


# ---- files ----


def test_a_table_that_is_sent_is_answered_as_from_python(reader: Reader, tmp_path: Path) -> None:
    sent = reader.load(("mine.csv", TABLE))
    assert (sent.status_code, sent.headers["Location"]) == (303, "./")
    (tmp_path / "again.csv").write_text(TABLE)
    model = gc.fit(str(tmp_path / "again.csv"))
    best = model.best_counts([100_000.0], [1, 2, 4])[0]
    shown = reader.get().text
    assert f"<strong>{best['gpus']} GPU" in shown
    assert "mine.csv: 3 sizes, 1000 to 100000 atoms; 1, 2, 4 GPUs" in shown
    assert "What to measure next" in shown
    assert str(tmp_path) not in shown


def test_report_and_model_can_be_saved(reader: Reader, tmp_path: Path) -> None:
    reader.load(("mine.csv", TABLE), program="Mine & yours")
    names = re.findall(r'<a href="([^"]+)" download>', reader.get().text)
    assert names == ["report.html", "Mine-yours-1.json"]
    report, model = map(reader.get, names)
    assert "attachment" in report.headers["Content-Disposition"]
    assert 'id="load"' not in report.text
    assert 'id="verdict"' in report.text
    (tmp_path / "saved.json").write_text(model.text)
    saved = load_model(tmp_path / "saved.json")
    assert saved.data.program == "Mine & yours"
    assert str(tmp_path) not in model.text


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("atoms,gpus,ms/step\n1000,1,0.2\n1000,two,0.1\n", {}),
        ("atoms,gpus,ns/day\n1000,1,500\n1000,2,600\n", {}),
        ("atoms,cards,ms/step\n1000,1,0.2\n", {}),
        ("atoms,gpus,ns/day\n1000,1,500\n", {"timestep": "2 ells"}),
        ("no table, and no log\n", {}),
        ("", {}),
    ],
)
def test_what_is_wrong_is_the_one_line_of_the_command(
    reader: Reader, tmp_path: Path, run: Run, content: str, said: dict[str, str]
) -> None:
    refused = reader.load(("steps.csv", content), **said)
    assert refused.status_code == 422
    (tmp_path / "steps.csv").write_text(content)
    options = [f"--{name}={text}" for name, text in said.items()]
    status, _, stderr = run("import", "steps.csv", *options, "-o", "steps.jsonl")
    assert status == 2
    assert f"gpucast: error: {error_of(refused)}\n" == stderr


def test_what_a_file_does_not_say_is_said_without_sending_it_again(reader: Reader) -> None:
    days = TABLE.replace("ms/step", "ns/day")
    assert "--timestep" in error_of(reader.load(("mine.csv", days)))
    assert reader.load(timestep="2fs", unit="beads").status_code == 303
    shown = reader.get().text
    assert "n, beads" in shown
    assert 'name="timestep" value="2fs"' in shown
    wrong = reader.load(timestep="2fs", gpus="some")
    assert error_of(wrong) == "--gpus: 'some' is no whole number of at least 1"
    assert 'value="some"' in wrong.text


def test_any_gpu_count_can_be_asked_about(reader: Reader) -> None:
    reader.load(("mine.csv", TABLE))
    assert 'value="most:16"' not in reader.get().text
    assert reader.load(counts="1-4,16,48").status_code == 303
    shown = reader.get().text
    assert re.findall(r'value="only:(\d+)"', shown) == ["1", "2", "3", "4", "16", "48"]
    assert 'name="counts" value="1-4,16,48"' in shown
    assert error_of(reader.load(counts="many")).startswith("counts: 'many'")
    assert "1000" in error_of(reader.load(counts="1-2000"))


def test_a_batch_of_each_gpu_can_be_asked_about(reader: Reader) -> None:
    reader.load(("mine.csv", TABLE))
    assert reader.load(per_gpu="5000", units="tokens=10", price="2").status_code == 303
    shown = reader.get().text
    assert "5,000 atoms a GPU" in shown
    assert "tokens/s" in shown
    assert "cost/10^6 tokens" in shown
    assert "--price: says nothing without --units" in error_of(reader.load(units="", price="2"))


def test_without_a_file_there_is_nothing_to_fit(reader: Reader) -> None:
    assert error_of(reader.load()) == "choose a file of step times"


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("../../../tmp/x.csv", "x.csv"),
        ("/etc/x.csv", "x.csv"),
        (".hidden.csv", ".hidden.csv"),
        ("-o.csv", "-o.csv"),
    ],
)
def test_a_file_is_kept_under_its_own_name_in_the_folder_alone(
    reader: Reader, tmp_path: Path, sent: str, kept: str
) -> None:
    reader.load((sent, TABLE))
    assert [Path(name).name for name in files_of(tmp_path)] == [kept]
    assert f"{kept}: 3 sizes" in reader.get().text


@pytest.mark.parametrize("name", ["..", "a/..", "x\ny.csv", "x" * 300, "x\0.csv"])
def test_names_that_no_file_can_have_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="is no name of a file"):
        plain_name(name)


def test_a_folder_of_windows_is_no_part_of_a_name() -> None:
    assert plain_name("C:\\Users\\me\\x.csv") == "x.csv"


def test_a_file_that_is_called_like_a_bundled_dataset_is_itself(reader: Reader) -> None:
    reader.load(("dscuda", TABLE))
    assert "dscuda: 3 sizes, 1000 to 100000 atoms" in reader.get().text


def test_two_files_of_one_name_are_refused(reader: Reader) -> None:
    refused = reader.load(("a/x.csv", TABLE), ("b/x.csv", TABLE))
    assert error_of(refused) == "x.csv: is given twice, so that its samples would count twice"


def test_new_files_take_the_place_of_those_before(reader: Reader, tmp_path: Path) -> None:
    reader.load(("first.csv", TABLE))
    reader.load(("second.csv", "nothing"))
    assert [Path(name).name for name in files_of(tmp_path)] == ["second.csv"]
    shown = reader.get().text
    assert "first.csv" not in shown
    assert 'id="verdict"' not in shown
    assert reader.get("report.html").status_code == 404


def test_more_than_can_be_read_is_refused_in_words(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving._Request, "max_content_length", 1000)
    refused = reader.load(("large.csv", "x" * 2000))
    assert refused.status_code == 413
    assert error_of(refused) == "files are larger than 128 MiB together"


def test_hostile_names_are_text(reader: Reader) -> None:
    reader.load((HOSTILE, TABLE), program="<script>alert(2)</script>")
    shown = reader.get().text
    assert html.escape(HOSTILE) in shown
    assert "<img" not in shown
    assert "<script>alert" not in shown
    refused = reader.load((HOSTILE, "no table"))
    assert "<img" not in refused.text


def test_a_second_fit_waits_for_the_first(tmp_path: Path) -> None:
    started, ended = threading.Event(), threading.Event()

    def slow(order: Order) -> Any:
        started.set()
        ended.wait(60)
        raise InputError("done")

    reader = Reader(tmp_path, slow)
    first = threading.Thread(target=reader.load, args=(("a.csv", TABLE),))
    first.start()
    assert started.wait(60)
    second = Client(reader.app).post(f"/{reader.app.token}/", base_url=LOCAL, data={"n": "1"})
    assert second.status_code == 409
    assert error_of(second) == "Another fit is under way; wait for its end."
    assert reader.get().status_code == 200
    ended.set()
    first.join()
    assert error_of(reader.get()) == "done"


# ---- what is answered ----


def test_paths_of_a_series_are_compared_and_series_are_chosen(
    reader: Reader, tmp_path: Path
) -> None:
    rows = [
        f"{n},{gpus},{path},{program},{(n * 1e-8 / gpus + 1e-5 * gpus) * slower * noise:.6g}"
        for program, path, slower, sizes in (
            ("one", "remote", 1.5, (1000, 4000, 16000)),
            ("one", "native", 1.0, (1000, 4000, 16000)),
            ("two", "native", 3.0, (1000, 4000)),
        )
        for n in sizes
        for gpus in (1, 2, 4)
        for noise in (0.99, 1.01)
    ]
    reader.load(("both.csv", "\n".join(["n,gpus,path,program,seconds", *rows])))
    shown = reader.get().text
    assert re.findall(r'<option value="\d+"( selected)?>(one|two)</option>', shown) == [
        (" selected", "one"),
        ("", "two"),
    ]
    assert "Data: both.csv: one, one of 2 series. Change it" in shown  # also while it is folded
    assert "native or remote?" in shown  # native first, whatever the file has first
    reader.load(series="1")
    shown = reader.get().text
    assert "native or remote?" not in shown
    assert re.findall(r'<option value="\d+" selected>(one|two)</option>', shown) == ["two"]


def test_records_are_loaded_as_they_are(reader: Reader, tmp_path: Path) -> None:
    data = steps_alone()
    data.dump(tmp_path / "records.jsonl")
    assert reader.load(("r.jsonl", (tmp_path / "records.jsonl").read_bytes())).status_code == 303
    assert "steps of" not in reader.get().text or 'id="verdict"' in reader.get().text


# ---- a process of its own ----


def _dies(_: object) -> None:
    import os

    os._exit(9)


def test_an_answer_from_another_process_is_the_same_and_this_ones_folder_stays(
    tmp_path: Path,
) -> None:
    (tmp_path / "mine.csv").write_text(TABLE)
    before = Path.cwd()
    answered = apart(answer, Order(Source(str(tmp_path), ("mine.csv",))))
    assert answered.content["models"][0]["cells"]
    assert Path.cwd() == before


def test_errors_of_another_process_arrive_with_all_they_name(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("atoms,gpus,ms/step\n1000,two,0.1\n")
    with pytest.raises(InputError) as caught:
        apart(answer, Order(Source(str(tmp_path), ("mine.csv",))))
    assert (caught.value.file, caught.value.line) == ("mine.csv", 2)


def test_a_process_that_dies_is_an_error_in_words() -> None:
    with pytest.raises(gc.GpucastError, match="ended unexpectedly"):
        apart(_dies, None)
