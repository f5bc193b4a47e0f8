"""Tables of a proposal, as text, Markdown, LaTeX, CSV and an Excel workbook."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpucast.errors import InputError
from gpucast.util import JsonObject, units
from gpucast.util.tables import csv_text, quoted
from gpucast.util.units import gpus_in_words

_TIME_UNITS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6}
_BEYOND = "†"
_RELATIVE = ("speed-up", "efficiency")
_SPECIAL = re.compile(r"[&%$#_{}~^\\]")
_SIGNS = {"\u00a0": "~", "\u202f": r"\,", "–": "--", "µ": r"$\mu$", _BEYOND: r"$^\dagger$"}
_LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}


@dataclass(frozen=True)
class Table:
    """A table of texts.

    Attributes:
        caption: its subject and how to read it.
    """

    name: str
    caption: str
    headings: list[str]
    rows: list[list[str]]

    def markdown(self) -> str:
        """Return the table in Markdown, with its caption above."""
        lines = [self.headings, ["--:"] * len(self.headings), *self.rows]
        body = ("| " + " | ".join(cell.replace("|", "/") for cell in line) + " |" for line in lines)
        return "\n".join([f"*{self.caption}*", "", *body])

    def latex(self) -> str:
        """Return a LaTeX ``table`` environment that needs no package."""
        heads = [_stacked(head.split(" ")) for head in self.headings]
        cells = [[_stacked(re.split(r" (?=\()", cell)) for cell in row] for row in self.rows]
        lines = [" & ".join(line) + r" \\" for line in (heads, *cells)]
        lines = [r"\hline", lines[0], r"\hline", *lines[1:], r"\hline"]
        return "\n".join(
            [
                r"\begin{table}",
                rf"\caption{{{_latex(self.caption)}}}",
                rf"\label{{tab:{self.name}}}",
                r"\centering\footnotesize\setlength{\tabcolsep}{3pt}",
                rf"\begin{{tabular}}{{{'r' * len(self.headings)}}}",
                *lines,
                r"\end{tabular}",
                r"\end{table}",
                "",
            ]
        )


def tables_of(content: JsonObject, numerals: Numerals) -> list[Table]:
    """Return the tables of strong scaling by size, weak scaling, and hours."""
    strong = [_scaling(sweep, content, numerals, at) for at, sweep in enumerate(content["strong"])]
    return [*strong, _scaling(content["weak"], content, numerals), _hours(content, numerals)]


def things(content: JsonObject) -> str:
    """Return what n counts."""
    return content["unit"] or "n"


def _scaling(sweep: JsonObject, content: JsonObject, numerals: Numerals, at: int = 0) -> Table:
    rows, weak = sweep["rows"], sweep["n"] is None
    unit, size = _unit(max(row["seconds"] for row in rows))
    timed, nodes = content["timestep"] is not None, content["gpus_per_node"] is not None
    grows = content["size_of"] == "gpu"
    measured = any(row["measured"] is not None for row in rows)
    rate = "ns/day" if timed else f"{things(content)}/s" if grows else "steps/s"

    def line(row: JsonObject) -> Iterator[str]:
        whole, digits, share = numerals.number, numerals.digits, numerals.percent
        if nodes:
            yield whole(row["nodes"])
        yield whole(row["gpus"])
        if weak:
            yield whole(row["n"])
        if measured:
            yield digits(row["measured"] and row["measured"] / size)
            yield digits(row["measured_speed_up"], 3)
            yield share(row["measured_efficiency"])
        yield digits(row["seconds"] / size) + (_BEYOND if row["extrapolated"] else "")
        yield f"{digits(row['low'] / size)} – {digits(row['high'] / size)}"
        yield digits(
            row["ns_per_day"] if timed else row["steps_per_second"] * (row["n"] if grows else 1)
        )
        yield digits(row["speed_up"], 3)
        yield share(row["efficiency"])

    headings = [
        *(["nodes"] if nodes else []),
        "GPUs",
        *([things(content)] if weak else []),
        *(["measured " + word for word in (f"time, {unit}", *_RELATIVE)] if measured else []),
        *(f"forecast time, {unit}", f"90\u00a0% interval, {unit}", rate),
        *("forecast " + word for word in _RELATIVE),
    ]
    reference = sweep["reference_gpus"]
    subject = (
        f"Weak scaling, {numerals.number(sweep['per_gpu'])} {things(content)} a GPU; "
        f"E = T({reference}) / T(N)"
        if weak
        else f"Strong scaling, {_size(content, sweep['n'], numerals)}; "
        f"E = {reference} T({reference}) / (N T(N))"
    )
    caption = (
        f"{subject}, N_ref = {gpus_in_words(reference)}, speed-up E N / N_ref. "
        f"The interval is of a single measurement.{_mark(rows)}"
    )
    smallest, largest = content["domain"]["n"]
    if weak and smallest == largest:
        caption += " One size alone was measured: how times grow with the size is a guess."
    name = "weak" if weak else f"strong-{at + 1}" if at else "strong"
    return Table(name, caption, headings, [list(line(row)) for row in rows])


def _size(content: JsonObject, n: float, numerals: Numerals) -> str:
    size = numerals.number(n)
    return f"{size} {content['unit']}" if content["unit"] else f"n = {size}"


def _hours(content: JsonObject, numerals: Numerals) -> Table:
    nodes, number = content["gpus_per_node"] is not None, numerals.number
    kinds = {"gpu_hours": "GPU hours", **({"node_hours": "node hours"} if nodes else {})}
    reserve = numerals.percent(content["reserve"])
    powered = any("kwh" in job for job in content["jobs"])
    price = ", ".join(filter(None, ("price of energy", content["energy_currency"])))
    electricity = {
        key: heading
        for key, heading in (("energy_cost", price), ("co2_kg", "kg CO2"))
        if any(key in job for job in content["jobs"])
    }

    def line(job: JsonObject) -> Iterator[str]:
        yield from (job["choice"], number(job["n"]))
        if nodes:
            yield number(job["nodes"])
        yield number(job["gpus"])
        yield numerals.duration(job["step_seconds"]) + (_BEYOND if job["extrapolated"] else "")
        yield numerals.long(job["run_seconds"])
        yield number(job["jobs_per_run"])
        for kind in kinds:
            low, high = job[f"{kind}_low"], job[f"{kind}_high"]
            yield f"{number(job[kind])} ({number(low)} – {number(high)})"
            yield number(job[f"{kind}_with_reserve"])
        if powered:
            yield f"{number(job['kwh'])} ({number(job['kwh_low'])} – {number(job['kwh_high'])})"
        yield from (number(job[key]) for key in electricity)

    per_kind = [
        heading
        for kind in kinds.values()
        for heading in (f"{kind} (90\u00a0% interval)", f"{kind}, {reserve} reserve")
    ]
    if powered:
        per_kind += ["kWh of GPUs (90\u00a0% interval)", *electricity.values()]
    size = things(content) + " a GPU" * (content["size_of"] == "gpu")
    headings = ["choice", size, *(["nodes"] if nodes else []), "GPUs", "a step"]
    runs, work = number(content["runs"]), content["work"]
    length = f"{number(work)} {things(content)}" if work else f"{number(content['steps'])} steps"
    caption = f"Hours = runs x steps x N x T(N): {runs} run{'s' * (content['runs'] > 1)} of " + (
        f"{length} each{_queue(content, numerals)}. The interval is of the expected step time "
        f"of later runs.{_mark(content['jobs'])}"
    )
    rows = [list(line(job)) for job in content["jobs"]]
    return Table("hours", caption, [*headings, "a run", "jobs a run", *per_kind], rows)


def _mark(rows: Sequence[JsonObject]) -> str:
    beyond = any(row["extrapolated"] for row in rows)
    return f" {_BEYOND}: beyond what was measured." if beyond else ""


def _queue(content: JsonObject, numerals: Numerals) -> str:
    limit, setup = content["queue_limit"], content["setup"]
    words = f", in jobs of at most {numerals.long(limit)}" if limit else ""
    return words + (f", each of which takes {numerals.long(setup)} to start" if setup else "")


def _unit(seconds: float) -> tuple[str, float]:
    return next(((u, s) for u, s in _TIME_UNITS.items() if seconds >= s), ("ns", 1e-9))


def _stacked(parts: list[str]) -> str:
    """Stack the parts of a cell, so that tables fit a page."""
    lines = r"\\".join(map(_latex, parts))
    return lines if len(parts) == 1 else rf"\shortstack[r]{{{lines}}}"


def _latex(text: str) -> str:
    plain = _SPECIAL.sub(lambda sign: _LATEX.get(sign[0], "\\" + sign[0]), text)
    for sign, command in _SIGNS.items():
        plain = plain.replace(sign, command)
    return plain


def csv(content: JsonObject, numerals: Numerals) -> str:
    """Return all scaling rows as CSV in SI units; with decimal commas, the separator is a
    semicolon."""
    sweeps = [*content["strong"], content["weak"]]
    rows = [
        {"scaling": "weak" if sweep["n"] is None else "strong", **row,
         "reference_gpus": sweep["reference_gpus"]}
        for sweep in sweeps
        for row in sweep["rows"]
    ]  # fmt: skip
    return csv_text([*rows[0]], (list(row.values()) for row in rows), numerals.decimal)


def workbook(content: JsonObject, tables: Sequence[Table]) -> bytes:
    """Return a workbook with sheets for strong and weak scaling and hours, and one of notes."""
    import pandas

    stream = io.BytesIO()
    sheets = {
        "strong scaling": [row for sweep in content["strong"] for row in sweep["rows"]],
        "weak scaling": content["weak"]["rows"],
        "hours": content["jobs"],
        "notes": [{"notes": table.caption} for table in tables],
    }
    with pandas.ExcelWriter(stream, engine="openpyxl") as book:
        for name, rows in sheets.items():
            pandas.DataFrame(rows).map(quoted).to_excel(book, sheet_name=name, index=False)
            for head, *cells in book.sheets[name].columns:
                width = max(10, len(head.value) + 2)
                book.sheets[name].column_dimensions[head.column_letter].width = width
                for cell in cells if "efficiency" in head.value else ():
                    cell.number_format = "0 %"
    return stream.getvalue()


# --- number formats of countries ---


_POINT, _COMMA = (".", ","), (",", "\u202f")
_COMMAS = (
    "bg ca cs da de el es et eu fi fr gl hr hu is it lt lv nb nl nn no pl pt ro ru sk sl sr sv tr "
    "uk"
)
_BY_LANGUAGE = dict.fromkeys(("en", "he", "ja", "ko", "th", "zh"), _POINT) | dict.fromkeys(
    _COMMAS.split(), _COMMA
)
_BY_COUNTRY = {"de_CH": (".", "’"), "de_LI": (".", "’"), "it_CH": (".", "’"), "es_MX": _POINT}


@dataclass(frozen=True)
class Numerals:
    """A number format.

    Attributes:
        decimal: the decimal sign; group: the separator of groups of three digits.
    """

    decimal: str = "."
    group: str = ","

    def text(self, words: str) -> str:
        """Replace the decimal signs in an English text."""
        return re.sub(r"(?<=\d)\.(?=\d)", self.decimal, words)

    def number(self, value: float | None, digits: int = 4) -> str:
        """Format a number with ``digits`` digits and all before the decimal sign; whole numbers
        stay complete; ``-`` for None."""
        if value is None:
            return "-"
        if float(value).is_integer() or value >= 10 ** (digits - 1):
            return f"{value:,.0f}".replace(",", self.group)
        return self.text(f"{value:.{digits}g}")

    def digits(self, value: float | None, digits: int = 4) -> str:
        """Format a measured or forecast value, with trailing zeros."""
        if value is None or value >= 10 ** (digits - 1):
            return self.number(value, digits)
        return self.text(f"{value:#.{digits}g}")

    def percent(self, share: float | None, digits: int = 0) -> str:
        """Format a share in per cent."""
        return self._with_unit(units.percent(share, digits) or "-")

    def duration(self, seconds: float) -> str:
        """Format a step time."""
        return self._with_unit(units.duration(seconds))

    def long(self, seconds: float) -> str:
        """Format a time of seconds to days."""
        return self._with_unit(units.long_duration(seconds))

    def _with_unit(self, words: str) -> str:
        """Join number and unit by a no-break space."""
        return self.text(words).replace(" ", "\u00a0")


def numerals_of(name: str) -> Numerals:
    """Return the number format of a locale such as ``de`` or ``de_CH``.

    Raises:
        InputError: the language is not known.
    """
    language, _, country = name.partition(".")[0].replace("-", "_").partition("_")
    full = f"{language.lower()}_{country.upper()}"
    signs = _BY_COUNTRY.get(full) or _BY_LANGUAGE.get(language.lower())
    if signs is None:
        known = ", ".join(sorted(_BY_LANGUAGE))
        raise InputError(f"{name!r} is of no language that is known: {known}", field="--locale")
    return Numerals(*signs)
