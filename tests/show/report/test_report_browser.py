"""The report in a real browser: headless Chromium, as a desktop, a phone, in the dark, in print."""

import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from browsers import PHONE, needs_browser
from colours import contrast, lab, linear
from gpucast.answers.scaling import sensible_count
from gpucast.model.fitted import Model
from gpucast.show.report.content import content
from gpucast.show.report.downloads import downloads
from gpucast.show.report.render import page as html
from report_pages import HOSTILE, h200, h200_page, jumping, slower

pytestmark = [pytest.mark.slow, needs_browser]

UNITS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}
NEAR = 0.005
"""The relative difference of the page's forecasts from the model's."""


@dataclass
class Opened:
    """A page in the browser, and what it complained of or asked a network for."""

    page: Any
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def choose(self, **values: object) -> None:
        """Sets controls, by their ids; waits until the answer is about them."""
        for name, value in values.items():
            control = self.page.locator(f"#{name.replace('_', '-')}")
            if control.evaluate("each => each.tagName") == "SELECT":
                control.select_option(str(value))
            else:
                control.fill(str(value))
        # Answers are made in the next frame.
        self.page.evaluate("() => new Promise(done => requestAnimationFrame(() => "
                           "requestAnimationFrame(done)))")  # fmt: skip

    def text(self, where: str) -> str:
        return " ".join(self.page.locator(where).inner_text().split())

    def seconds(self) -> float:
        """The step time that the answer shows, as a reader reads it."""
        shown = re.search(r": ([\d.]+) (s|ms|µs|ns) a step", self.text("#verdict"))
        return float(shown[1]) * UNITS[shown[2]]

    def gpus(self) -> int:
        return int(self.text("#verdict").split()[0])


@pytest.fixture
def show(browser: Any) -> Iterator[Any]:
    contexts = []

    def opened(path: Path, at: str = "", **options: Any) -> Opened:
        context = browser.new_context(**options)
        contexts.append(context)
        made = Opened(context.new_page())
        made.page.on("console", lambda message: made.complaints.append(message.text))
        made.page.on("pageerror", lambda error: made.complaints.append(str(error)))
        made.page.on("request", lambda request: made.requests.append(request.url))
        made.page.goto(path.as_uri() + at)
        if options.get("java_script_enabled", True):
            made.page.wait_for_selector("html[data-ready]", state="attached")
        return made

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Native and remote H200 with their measurements."""
    return h200_page(tmp_path_factory.mktemp("h200"))


@pytest.fixture(scope="module")
def jumps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose curves jump, alone."""
    data, model = jumping()
    path = tmp_path_factory.mktemp("jumps") / "report.html"
    path.write_text(html(content([model], data)), encoding="utf-8")
    return path


def test_it_opens_without_complaint_and_without_any_network(report: Path, show: Any) -> None:
    opened = show(report)
    opened.choose(n=5000, gpus="most:8", path="1")
    assert opened.complaints == []
    assert all(address.startswith(("file:", "data:")) for address in opened.requests)
    charts = opened.page.locator(".chart svg[aria-label]")
    assert charts.count() == 6  # time, terms, efficiency, remote against native, two of residuals


@pytest.mark.parametrize("gpus", [1, 3, 8])
def test_times_of_a_model_that_jumps_agree_with_its_forecasts(
    jumps: Path, show: Any, gpus: int
) -> None:
    _, model = jumping()
    opened = show(jumps)
    for n in (1000, 9216 * gpus, 9216 * gpus + 1, 12345, 50000, 200001):
        opened.choose(gpus=f"only:{gpus}", n=n)
        expected = model.forecasts([float(n)], [float(gpus)])
        assert opened.seconds() == pytest.approx(expected.seconds[0], rel=NEAR)
        _assert_interval(opened, expected.low[0], expected.high[0])
        flagged = opened.page.locator("#verdict-flag").is_visible()
        assert flagged == bool(expected.extrapolated[0])


def test_the_best_of_both_paths_is_that_of_the_models(report: Path, show: Any) -> None:
    opened = show(report)
    rng = np.random.default_rng(5)
    for n in np.round(np.exp(rng.uniform(np.log(216), np.log(1e6), 7))):
        opened.choose(n=int(n), gpus="most:4", path="any", efficiency="")
        best = {
            path: h200(path).best_counts([float(n)], range(1, 5))[0]
            for path in ("native", "remote")
        }
        least = min(row["seconds"] for row in best.values())
        assert opened.seconds() == pytest.approx(least, rel=NEAR)
        path = "native" if ", native:" in opened.text("#verdict") else "remote"
        chosen = h200(path).forecasts([n], [float(opened.gpus())])
        assert chosen.seconds[0] == pytest.approx(least, rel=NEAR)
        opened.choose(path="1")
        assert opened.seconds() == pytest.approx(best["remote"]["seconds"], rel=NEAR)


@pytest.mark.parametrize("percent", ["70", "95.5", "100"])
def test_the_answer_is_the_most_gpus_that_are_as_efficient_as_asked(
    report: Path, show: Any, percent: str
) -> None:
    opened = show(report)
    for n in (2744, 21_952, 110_592):
        opened.choose(n=n, gpus="most:4", path="0", efficiency=percent)
        expected = sensible_count(h200("native"), n, range(1, 5), float(percent) / 100)
        assert opened.gpus() == expected["gpus"]
        assert f"Efficiency {100 * expected['efficiency']:.0f} %" in opened.text("#verdict-detail")
        best = h200("native").best_counts([float(n)], range(1, 5))[0]["gpus"]
        assert [opened.text(f"#cards .panel:nth-child({at}) b") for at in (1, 2)] == [
            f"{count} GPU{'s' * (count > 1)}, native" for count in (expected["gpus"], best)
        ]


def test_a_threshold_that_is_none_is_refused_at_its_field(report: Path, show: Any) -> None:
    opened = show(report)
    before = opened.text("#verdict")
    opened.choose(efficiency="170")
    assert "up to 100" in opened.text("#efficiency-wrong")
    assert opened.text("#verdict") == before


def test_figure_and_table_can_be_saved(tmp_path: Path, show: Any) -> None:
    data, model = jumping()
    path = tmp_path / "report.html"
    shown = content([model], data)
    path.write_text(html(shown, downloads=downloads([model], shown)), encoding="utf-8")
    opened = show(path)
    for name, begin in (("scaling.svg", "<?xml"), ("scaling.csv", "scaling,n,")):
        with opened.page.expect_download() as waiting:
            opened.page.get_by_role("link", name=name).click()
        assert waiting.value.suggested_filename == name
        waiting.value.save_as(tmp_path / name)
        assert (tmp_path / name).read_text().startswith(begin)
    assert opened.complaints == []


def test_the_slider_moves_by_keys_to_the_models_own_points(report: Path, show: Any) -> None:
    opened = show(report)
    slider = opened.page.locator("#n-slider")
    slider.focus()
    before = opened.page.locator("#n").input_value()
    for _ in range(3):
        opened.page.keyboard.press("ArrowLeft")
    n = float(opened.page.locator("#n").input_value())
    assert n < float(before)
    assert slider.get_attribute("aria-valuetext") == f"n = {n:,.0f}"
    opened.choose(efficiency="")
    assert opened.text("#verdict-question") == f"The fastest for n = {n:,.0f}"
    best = h200("native").best_counts([n], range(1, 5))[0]
    assert (opened.gpus(), opened.seconds()) == (
        best["gpus"],
        pytest.approx(best["seconds"], rel=1e-3),
    )


def test_deadline_and_prices_choose_the_cheapest_in_time(report: Path, show: Any) -> None:
    opened = show(report)
    n, steps, deadline = 110592, 1_000_000, 5000.0
    prices = {"native": 4.0, "remote": 1.5}
    opened.choose(n=n, path="any", gpus="most:4", steps=steps, unit="1", deadline=deadline)
    opened.choose(price_0=prices["native"], price_1=prices["remote"])
    rows = []
    for path, price in prices.items():
        forecasts = h200(path).forecasts([float(n)] * 4, [1.0, 2.0, 3.0, 4.0])
        rows += [
            (gpus * second * steps / 3600 * price, second * steps, gpus, path)
            for gpus, second in zip(forecasts.gpus, forecasts.seconds, strict=True)
        ]
    cost, _, gpus, path = min(row for row in rows if row[1] <= deadline)
    assert opened.text("#verdict").startswith(f"{gpus:.0f} GPU")
    assert f", {path}:" in opened.text("#verdict")
    assert opened.text("#verdict-question") == f"The cheapest in time for n = {n:,}"
    shown = re.search(r", cost ([\d.]+) \([\d.]+ GPU-hours\)", opened.text("#verdict-detail"))
    assert float(shown[1]) == pytest.approx(cost, rel=2 * NEAR)
    assert "meets the deadline" in opened.text("#verdict-detail")
    # Between what is forecast and what 90 % of the runs take, another count is named that is sure.
    page = json.loads(opened.page.locator("#content").text_content())
    curves = {curve["gpus"]: curve for curve in page["models"][0]["curves"]}
    time, sure = (
        {gpus: curve[key][curve["n"].index(n)] for gpus, curve in curves.items()}
        for key in ("seconds", "sure")
    )
    assert time[4] * sure[4] < time[3]
    opened.choose(path="0", deadline=time[3] * steps * 1.0001)
    assert opened.text("#verdict").startswith("3 GPUs")
    detail = opened.text("#verdict-detail")
    assert "probably meets the deadline. In time with 90 %: 4 GPUs, native, " in detail
    opened.choose(deadline=time[4] * steps * 1.0001)
    assert "No count asked about is in time with 90 %." in opened.text("#verdict-detail")
    opened.choose(deadline=1)
    assert opened.text("#verdict-question").startswith("Nothing asked about meets the deadline")
    assert "misses the deadline" in opened.text("#verdict-detail")


def test_a_phone_shows_it_without_scrolling_sideways(report: Path, show: Any) -> None:
    opened = show(report, **PHONE)
    wide = opened.page.evaluate("document.documentElement.scrollWidth")
    assert wide <= PHONE["viewport"]["width"]
    for control in opened.page.locator("#controls input, #controls select").all():
        box = control.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= PHONE["viewport"]["width"]
    verdict = opened.page.locator("#verdict").bounding_box()
    assert verdict["y"] < 900  # the answer is about a screen down at most


def test_an_n_that_the_page_does_not_know_is_refused_in_words(report: Path, show: Any) -> None:
    opened = show(report)
    field = opened.page.locator("#n")
    for asked, answered in ((3_000_000, 1_257_728), (100, 216), (0, 216), ("", 216)):
        opened.choose(n=asked)
        assert field.get_attribute("aria-invalid") == "true"
        assert f"the answer is for {answered:,}" in opened.text("#n-wrong")
        assert opened.text("#n-wrong") in opened.text("#verdict-refused")
        assert opened.text("#verdict-question").endswith(f"n = {answered:,}")
    assert opened.page.locator(f"#{field.get_attribute('aria-describedby')}").is_visible()
    opened.choose(n=5000)
    assert field.get_attribute("aria-invalid") is None
    assert opened.text("#n-wrong") == ""
    assert not opened.page.locator("#verdict-refused").is_visible()


@pytest.mark.parametrize(
    ("field", "typed", "said"),
    [
        ("price-0", "-1", "a price is 0 or more; the answer is without it"),
        ("price-0", "1e", "a price is 0 or more; the answer is without it"),
        ("steps", "0", "a number greater than 0; the answer is for 1,000,000"),
        ("steps", "e", "a number greater than 0; the answer is for 1,000,000"),
        ("deadline", "-2", "a time greater than 0; the answer is without a deadline"),
    ],
)
def test_what_no_field_can_hold_is_refused_at_it(
    report: Path, show: Any, field: str, typed: str, said: str
) -> None:
    opened = show(report)
    before = opened.text("#verdict-detail")
    opened.page.locator(f"#{field}").fill("")
    opened.page.locator(f"#{field}").press_sequentially(typed)
    opened.choose()
    assert opened.text(f"#{field}-wrong") == said
    assert said in opened.text("#verdict-refused")
    assert opened.text("#verdict-detail") == before


def test_costs_of_two_paths_need_two_prices(report: Path, show: Any) -> None:
    opened = show(report)
    opened.choose(price_0=2.5)
    assert "not stated" in opened.text("#price-1-wrong")
    opened.choose(path="0")
    assert opened.text("#price-1-wrong") == ""
    opened.choose(path="any", price_1=0)
    assert not opened.page.locator("#verdict-refused").is_visible()


def test_a_link_keeps_the_question(report: Path, show: Any) -> None:
    opened = show(report)
    opened.choose(n=47_000, path="1", gpus="only:3", steps=5000, unit="60", deadline=7)
    opened.choose(price_0=2, price_1=1.25)
    link = opened.page.locator("#link").get_attribute("href")
    opened.page.wait_for_function("link => location.hash === link", arg=link)
    opened.page.locator("nav a").nth(1).click()  # a place on the page keeps it, too
    opened.page.wait_for_function("link => location.hash === link", arg=link)
    again = show(report, at=link)
    for part in ("#verdict-question", "#verdict", "#verdict-detail", "#choices"):
        assert again.text(part) == opened.text(part)
    assert again.page.locator("#price-1").input_value() == "1.25"
    assert not again.page.locator("#verdict-refused").is_visible()


def test_what_a_link_leaves_out_is_as_usual(report: Path, show: Any) -> None:
    opened, again = show(report), show(report, at="#n=5000")
    opened.choose(n=5000)
    for part in ("#verdict-question", "#verdict", "#verdict-detail"):
        assert again.text(part) == opened.text(part)
    assert not again.page.locator("#verdict-refused").is_visible()
    again.page.evaluate("location.hash = '#n=6000&gpus=only:2'")
    again.page.evaluate("location.hash = '#n=6000'")
    opened.choose(n=6000)
    again.choose()
    assert again.text("#verdict") == opened.text("#verdict")


def test_a_link_may_state_a_gpu_count_alone(report: Path, show: Any) -> None:
    opened = show(report, at="#n=5000&gpus=2")
    assert opened.text("#verdict-refused") == ""
    assert opened.page.locator("#gpus").input_value() == "most:2"


def test_what_a_link_asks_in_vain_is_said(report: Path, show: Any) -> None:
    opened = show(report, at="#n=5000&gpus=most:512&colour=red&steps=many")
    refused = opened.text("#verdict-refused")
    for part in ("gpus most:512", "report --gpus", "link's colour", "steps many"):
        assert part in refused
    assert opened.text("#verdict-question").endswith("for n = 5,000")
    assert opened.complaints == []


def test_forecasts_that_the_pages_own_data_refute_say_so_at_the_answer(
    tmp_path: Path, show: Any
) -> None:
    data, model = jumping()
    path = tmp_path / "report.html"
    path.write_text(html(content([model], slower(data, 1.5))), encoding="utf-8")
    opened = show(path)
    cell = next(step for step in data.steps if step.gpus == 2)
    opened.choose(n=int(cell.n), gpus="only:2")
    assert "cells measured in native lie within their 90 % interval" in opened.text(".verdict")
    shown = re.search(r"Measured here: ([\d.]+) (\S+) a step", opened.text("#verdict-measured"))
    measured = 1.5 * float(np.median(cell.seconds))
    assert float(shown[1]) * UNITS[shown[2]] == pytest.approx(measured, rel=NEAR)
    still = show(path, java_script_enabled=False)
    assert "lie within their 90 % interval" in still.text(".verdict")


def test_curves_end_with_the_gpus_that_there_are_unless_more_are_asked_about(
    report: Path, show: Any
) -> None:
    opened = show(report)
    charts = opened.page.locator("#chart-time")
    assert [words in charts.inner_text() for words in ("4 GPUs", "5 GPUs")] == [True, False]
    opened.choose(gpus="most:8")
    assert "8 GPUs" in charts.inner_text()


def test_tables_that_a_phone_cuts_say_so(report: Path, show: Any) -> None:
    opened = show(report, **PHONE)
    for wide in opened.page.locator(".scroll").all():
        cut = wide.evaluate("each => each.scrollWidth > each.clientWidth + 1")
        sign = wide.evaluate("each => getComputedStyle(each, '::before').content")
        assert ("scroll sideways" in sign) == cut
    first = opened.page.locator(".scroll").first
    assert first.evaluate("each => each.classList.contains('goes-on')")
    first.evaluate("each => each.scrollTo(each.scrollWidth, 0)")
    opened.page.wait_for_selector("#choices-part .scroll:not(.goes-on)")


# Every text of the page, with its colour and what lies behind it; none of them lies on a picture.
TEXTS = """() => {
  const found = [];
  const behind = (each) => {
    for (; each; each = each.parentElement) {
      const colour = getComputedStyle(each).backgroundColor;
      if (!/, 0\\)$/.test(colour)) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode());) {
    const each = node.parentElement;
    if (!node.data.trim() || !each.checkVisibility() || each.matches("script, style")) continue;
    const style = getComputedStyle(each);
    const colour = each instanceof SVGElement ? style.fill : style.color;
    found.push([node.data.trim().slice(0, 40), colour, behind(each)]);
  }
  for (const each of document.querySelectorAll("input, select")) {
    for (const part of [null, "::placeholder"]) {
      found.push([each.id, getComputedStyle(each, part).color, behind(each)]);
    }
  }
  return found;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_the_light_and_in_the_dark(report: Path, show: Any, scheme: str) -> None:
    opened = show(report, color_scheme=scheme)
    opened.page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    opened.choose(n=3_000_000, gpus="most:8", price_0=-1)
    paper = _colour(opened, "body", "background-color")
    assert (sum(paper) < 200) == (scheme == "dark")
    texts = opened.page.evaluate(TEXTS)
    assert len(texts) > 500
    weak = {
        (text, colour, behind)
        for text, colour, behind in texts
        if contrast(_numbers(colour), _numbers(behind)) < 4.5
    }
    assert weak == set()
    assert opened.complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_of_four_gpu_counts_and_of_the_terms_can_be_told_apart(
    report: Path, show: Any, scheme: str
) -> None:
    opened = show(report, color_scheme=scheme)
    panel = _colour(opened, ".verdict", "background-color")
    dark = str(scheme == "dark").lower()
    counts, several = opened.page.evaluate(
        f"[[0, 1, 2, 3].map(i => Colours.of(i, 4, {dark})), Colours.several({dark})]"
        ".map(each => each.map(colour => d3.rgb(colour).formatRgb()))"
    )
    for colours in (counts, several[:3]):
        shown = [_numbers(colour) for colour in colours]
        assert min(contrast(colour, panel) for colour in shown) >= 3
        pairs = itertools.combinations(shown, 2)
        assert min(float(np.linalg.norm(lab(linear(a)) - lab(linear(b)))) for a, b in pairs) >= 20


def test_it_prints_with_everything_open(report: Path, show: Any) -> None:
    opened = show(report, color_scheme="dark")
    printed = opened.page.pdf(format="A4", print_background=True)
    assert printed.startswith(b"%PDF")
    pages = len(re.findall(rb"/Type\s*/Page\b", printed))
    assert 5 <= pages <= 30
    opened.page.emulate_media(media="print")
    opened.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert opened.page.locator("details:not([open])").count() == 0
    assert sum(_colour(opened, "body", "background-color")) == 3 * 255
    opened.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert opened.page.locator("details[open]").count() == 0


def test_without_scripts_answer_table_and_picture_are_there(report: Path, show: Any) -> None:
    opened = show(report, java_script_enabled=False)
    n = 110592
    best = h200("native").best_counts([float(n)], range(1, 5))[0]
    assert opened.gpus() == best["gpus"]
    assert opened.seconds() == pytest.approx(best["seconds"], rel=1e-3)
    assert opened.page.locator("noscript svg polyline").count() == 8
    assert opened.page.locator("#answer table tbody tr").count() >= 5
    assert not opened.page.locator("#controls").is_visible()


def test_what_scripts_write_is_what_stood_there_without_them(report: Path, show: Any) -> None:
    still, moving = show(report, java_script_enabled=False), show(report)
    for where in ("#verdict", "#verdict-question"):
        assert still.text(where) == moving.text(where)
    assert moving.text("#verdict-detail").startswith(still.text("#verdict-detail"))


def test_hostile_names_are_text(tmp_path: Path, show: Any) -> None:
    data, model = jumping(HOSTILE)
    models: list[Model] = [replace(model, name=HOSTILE), replace(model, name="tame")]
    path = tmp_path / "report.html"
    path.write_text(html(content(models, data, title=HOSTILE)), encoding="utf-8")
    opened = show(path)
    opened.choose(n=20000, path="0")
    opened.page.evaluate(
        """for (const each of document.querySelectorAll('*'))
             for (const event of ['mouseover', 'click', 'focus'])
               each.dispatchEvent(new Event(event, {bubbles: true}))"""
    )
    assert opened.page.evaluate("window.hacked") is None
    assert opened.complaints == []
    assert opened.page.title() == HOSTILE
    assert HOSTILE in opened.text("#verdict")
    elements = "img, iframe, base, link[rel=stylesheet], textarea, svg[onload], [onfocus]"
    for element in elements.split(", "):
        assert opened.page.locator(element).count() == 0
    assert all(address.startswith(("file:", "data:")) for address in opened.requests)


def _assert_interval(opened: Opened, low: float, high: float) -> None:
    pattern = r"take ([\d.]+) (\S+) to ([\d.]+) (\S+?)\."
    shown = re.search(pattern, opened.text("#verdict-detail"))
    assert float(shown[1]) * UNITS[shown[2]] == pytest.approx(low, rel=2 * NEAR)
    assert float(shown[3]) * UNITS[shown[4]] == pytest.approx(high, rel=2 * NEAR)


def _colour(opened: Opened, where: str, which: str) -> tuple[int, ...]:
    style = opened.page.locator(where).first.evaluate(
        "(each, which) => getComputedStyle(each).getPropertyValue(which)", which
    )
    return _numbers(style)


def _numbers(colour: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", colour)[:3])
