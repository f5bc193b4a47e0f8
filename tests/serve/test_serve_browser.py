"""The local application in headless Chromium: picker, drop, keyboard, and what is read out."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browsers import PHONE, needs_browser
from serving import served

pytest.importorskip("werkzeug", reason="needs the extra serve")
pytest.importorskip("waitress", reason="needs the extra serve")

pytestmark = [pytest.mark.slow, needs_browser]

TABLE = "atoms,gpus,ns/day\n" + "".join(
    f"{n},{gpus},{172.8 / (0.05 + n * 1e-5 / gpus + 0.02 * gpus) * noise:.6g}\n"
    for n in (1000, 10_000, 100_000)
    for gpus in (1, 2, 4)
    for noise in (0.995, 1.005)
)
WAIT = 120_000
"""ms; a fit on a busy machine."""


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """The address of an application of its own."""
    with served(temporary=tmp_path) as (_, address):
        yield address


@pytest.fixture
def show(browser: Any, url: str) -> Iterator[Any]:
    contexts = []

    def opened(**options: Any) -> Any:
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(WAIT)
        page.goto(url)
        return page

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "mine.csv"
    path.write_text(TABLE)
    return path


def test_a_file_is_picked_refused_mended_and_answered_by_keyboard(show: Any, table: Path) -> None:
    page = show()
    page.locator("#files").set_input_files(table)
    page.locator("#files").focus()
    reach(page, "Fit", "Enter")
    page.wait_for_selector("#load-error")
    # The line is where the keyboard is, and is read out.
    assert page.evaluate("document.activeElement.id") == "load-error"
    error = page.get_by_role("alert").inner_text()
    assert re.fullmatch(r"mine.csv:1: 'ns/day' needs .* --timestep 2fs", error)
    assert page.title().startswith("Refused: ")
    reach(page, "timestep: simulated time of a step, such as 2fs")
    page.keyboard.type("2fs")
    page.keyboard.press("Enter")
    page.wait_for_selector("html[data-ready]", state="attached")
    assert re.match(r"\d GPUs?: ", page.locator("#verdict").inner_text())
    assert "mine.csv" in page.locator("#data summary").first.inner_text()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def reach(page: Any, name: str, *keys: str) -> None:
    """Tab on until the control of that name has the keyboard; press keys there."""
    for _ in range(30):
        named = page.evaluate(
            "() => { const each = document.activeElement;"
            " return each.labels?.[0]?.textContent ?? each.textContent; }"
        )
        if named.strip() == name:
            for key in keys:
                page.keyboard.press(key)
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{name!r} cannot be reached by the keyboard")


def test_a_file_is_dropped(show: Any) -> None:
    page = show()
    page.locator("#said-timestep").evaluate("each => { each.value = '2fs'; }")
    dropped = page.evaluate_handle(
        "text => { const data = new DataTransfer();"
        " data.items.add(new File([text], 'dropped.csv')); return data; }",
        TABLE,
    )
    page.dispatch_event("body", "dragover", {"dataTransfer": dropped})
    assert page.locator("body.dropping").count() == 1
    page.dispatch_event("body", "drop", {"dataTransfer": dropped})
    page.wait_for_selector("html[data-ready]", state="attached")
    assert "dropped.csv" in page.locator("#data summary").first.inner_text()


def test_it_is_read_out_with_names_states_and_changes(show: Any, table: Path) -> None:
    page = show()
    snapshot = page.locator("body").aria_snapshot()
    for part in (
        'heading "How many GPUs?" [level=1]',
        'region "Data"',
        'button "files: tables (CSV, Excel, Parquet), logs of programs, records"',
        'button "Fit"',
        "status",
    ):
        assert part in snapshot, snapshot
    page.locator("#data details details summary").click()
    page.get_by_label("timestep").fill("2fs")
    page.locator("#files").set_input_files(table)
    # What is said while the fit runs is gone with the page that said it.
    page.evaluate(
        "new MutationObserver(([change]) => sessionStorage.setItem('said', "
        "change.target.textContent)).observe(document.getElementById('load-status'), "
        "{ childList: true })"
    )
    page.get_by_role("button", name="Fit").click()
    page.wait_for_selector("html[data-ready]", state="attached")
    assert "Reading and fitting" in page.evaluate("sessionStorage.getItem('said')")
    snapshot = page.locator("body").aria_snapshot()
    for part in (
        'slider "n, atoms, on a logarithmic scale"',
        'spinbutton "n, atoms"',
        'combobox "N, GPUs"',
        'spinbutton "price a GPU-hour"',
        'heading "What to measure next"',
    ):
        assert part in snapshot, snapshot
    answer = page.get_by_role("status").filter(has=page.locator("#verdict"))
    assert answer.get_attribute("aria-live") == "polite"
    before = answer.inner_text()
    page.get_by_label("n, atoms", exact=True).fill("2000")
    page.wait_for_function("before => document.querySelector('.verdict').innerText !== before",
                           arg=before)  # fmt: skip
    # Nothing takes the keyboard out of its order.
    assert page.locator("[tabindex]:not([tabindex='0']):not([tabindex='-1'])").count() == 0
    unnamed = page.evaluate(
        "[...document.querySelectorAll('input, select')].filter(each => !each.labels.length"
        " && !each.getAttribute('aria-label')).map(each => each.outerHTML)"
    )
    assert unnamed == []


def test_files_that_are_too_large_are_not_sent(show: Any) -> None:
    page = show()
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.method))
    page.locator("#files").evaluate(
        "each => { const data = new DataTransfer();"
        " data.items.add(new File([new Uint8Array(2 ** 27 + 1)], 'large.csv'));"
        " each.files = data.files; each.dispatchEvent(new Event('change')); }"
    )
    page.get_by_role("button", name="Fit").click()
    assert "larger than 128 MiB" in page.locator("#files-wrong").inner_text()
    assert "POST" not in sent


def test_a_phone_shows_it_without_scrolling_sideways(show: Any) -> None:
    page = show(**PHONE)
    page.locator("#data details details summary").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_it_works_without_scripts(show: Any, table: Path) -> None:
    page = show(java_script_enabled=False)
    page.locator("#data details details summary").click()
    page.locator("#said-timestep").fill("2fs")
    page.locator("#files").set_input_files(table)
    page.locator("button[type=submit]").click()
    page.wait_for_selector("#verdict")
    assert re.match(r"\d GPUs?: ", page.locator("#verdict").inner_text())
