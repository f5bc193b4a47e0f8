"""A program's log described by patterns, and how it is read.

To import the log of another program, add a table to a TOML file here (``programs.py``). Its
``what`` is shown in ``gpucast import --help``, and with name and ``about`` in docs/how-to/logs.md.

A log is split into parts, one for each start of the program, and the ``read`` of the program's
module is called with each. It looks for times and reports them with ``Part.run``. The named groups
of ``facts`` and ``settings`` hold for the whole part: n, gpus, ranks, nodes, the simulated time of
a step as fs or ps, and words for the ``case``. ``<n>`` in a pattern is a number in a group ``n``.

If the program's lines state everything, a table of patterns is enough: see ``lines.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import pairwise
from typing import Any

from gpucast.data.formats import Format, Imported, Options
from gpucast.data.formats.logs import runs
from gpucast.data.formats.logs.runs import Found, Run, lines_of
from gpucast.errors import InputError
from gpucast.util.remarks import Kind, remark

NEVER = "\0(?!)"
"""A pattern that matches nothing, and fails fast."""


@dataclass(frozen=True, kw_only=True)
class Log:
    """How to recognise and read a program's output; patterns are regular expressions.

    Attributes:
        name: as in ``--format NAME``.
        what: description in a few words; ``about``: description for users.
        marks: patterns; any one identifies the log, or all those of a tuple together.
        read: reports the runs of a part to it.
        program, unit: name of the program, and what n counts.
        start: matches where the program starts. Text before the first start belongs to it.
        end: text at the end of a run; what follows it belongs to the next start.
        facts, settings: patterns whose named groups hold for a part; for facts the first match
            counts, for settings the last text of each group.
        case: words for the runs' case, such as ``{version}, cutoff {cutoff} A``; words with a
            group that was not found are left out.
        gpu_name: pattern of the GPUs' models, with a group ``name``.
        unclear: why a run's GPUs may be unknown.
        rank: if a text may be of several formats, that of lowest rank is taken.
        words: further patterns by name, for the reader.
    """

    name: str
    what: str
    about: str = ""
    marks: Sequence[str | tuple[str, ...]]
    read: Callable[[Part], None]
    program: str | None = None
    unit: str | None = None
    start: str = NEVER
    end: str | None = None
    facts: Sequence[str] = ()
    settings: Sequence[str] = ()
    case: str = ""
    gpu_name: str = NEVER
    unclear: str = ""
    rank: int = 0
    words: Mapping[str, str] = field(default_factory=dict)

    @property
    def format(self) -> Format:
        """The log as a format."""
        return Format(self.name, self.what, self._detect, self._import, log=True,
                      rank=self.rank)  # fmt: skip

    def parse(self, text: str) -> Found:
        """Return the content of a text. Raises InputError."""
        content, line_of = Found(), lines_of(text)
        for number, (begin, part_text) in enumerate(parts(text, self.start, self.end)):
            part = Part(self, part_text, begin, number, line_of, content)
            before = len(content.runs)
            self.read(part)
            if len(content.runs) > before:
                content.gpu_names += [match["name"].strip() for match in part.all(self.gpu_name)]
        return content

    def _detect(self, text: str) -> bool:
        alternatives = (mark if isinstance(mark, tuple) else (mark,) for mark in self.marks)
        return any(all(_made(mark).search(text) for mark in needed) for needed in alternatives)

    def _import(self, text: str, file: str, options: Options) -> Imported:
        try:
            return runs.imported(self.parse(text), file, options)
        except (ValueError, OverflowError, ZeroDivisionError) as error:
            # Only damaged files have figures of thousands of digits.
            raise InputError(f"holds an impossible figure: {error}", file=file) from None
        except InputError as error:
            error.file = error.file or file
            raise


@dataclass
class Part:
    """The output of one start of a program.

    Attributes:
        log: the description by which it is read.
        text: its text; ``begin``: its place in the log; ``number``: that of the start.
        line_of: returns the line of a place in the log; ``content``: that of the whole log.
    """

    log: Log
    text: str
    begin: int
    number: int
    line_of: Callable[[int], int]
    content: Found

    def find(self, pattern: str, place: int = 0) -> re.Match[str] | None:
        """Return the first match."""
        return _made(pattern).search(self.text, place)

    def all(self, pattern: str, place: int = 0, end: int | None = None) -> list[re.Match[str]]:
        """Return all matches."""
        last = len(self.text) if end is None else end
        return list(_made(pattern).finditer(self.text, place, last))

    def last(self, pattern: str) -> re.Match[str] | None:
        """Return the last match."""
        return next(reversed(self.all(pattern)), None)

    def line(self, place: int) -> int:
        """Return the number of the log's line at a place of the part."""
        return self.line_of(self.begin + place)

    @cached_property
    def facts(self) -> dict[str, str]:
        """The values of the log's facts and settings in this part."""
        matches = [match for pattern in self.log.facts if (match := self.find(pattern))]
        matches += [match for pattern in self.log.settings for match in self.all(pattern)]
        return {name: text.strip() for match in matches for name, text in groups(match).items()}

    def whole(self, name: str) -> int | None:
        """Return a fact that is a whole number."""
        return int(self.facts[name]) if name in self.facts else None

    @property
    def case(self) -> str | None:
        """The case of the runs, as far as the log states it."""
        words = []
        for word in self.log.case.split(", "):
            with suppress(KeyError):
                words.append(word.format_map(self.facts))
        return ", ".join(filter(None, words)) or None

    @property
    def timestep(self) -> float | None:
        """Simulated time of a step (s)."""
        for name, per_second in ("fs", runs.FEMTOSECONDS), ("ps", runs.PICOSECONDS):
            value = runs.decimal(self.facts.get(name, ""))
            if value and value > 0:
                return value / per_second
        return None

    def run(
        self, place: int, seconds: Iterable[float], uncertainty: float | None, **more: Any
    ) -> None:
        """Add a run whose time is printed at a place.

        Args:
            place: in the part.
            seconds: seconds a step of each sample.
            uncertainty: relative half-width of the rounding of printed digits.
            more: fields of the run that the log's facts do not state.
        """
        told: dict[str, Any] = {name: self.whole(name) for name in ("n", "gpus", "ranks", "nodes")}
        told |= {"program": self.log.program, "unit": self.log.unit, "unclear": self.log.unclear,
                 "case": self.case, "timestep": self.timestep, "execution": self.number,
                 **more}  # fmt: skip
        run = Run(line=self.line(place), seconds=tuple(seconds), uncertainty=uncertainty, **told)
        self.content.runs.append(run)

    def unfinished(self, place: int | None = None) -> None:
        """Report that the run that begins at a place, or with the part, has no time."""
        if place is None:
            start = self.find(self.log.start)
            place = start.start() if start else 0
        self.content.unfinished.append(self.line(place))

    def remark(self, text: str, about: str, kind: Kind = Kind.LACKS) -> None:
        """Add a remark on the log."""
        self.content.remarks.append(remark(kind, text, about=about))


def groups(match: re.Match[str]) -> dict[str, str]:
    """Return the texts of a match by group; digits at the end of a group's name are dropped."""
    return {name.rstrip("0123456789"): text for name, text in match.groupdict().items() if text}


def positive(matches: Iterable[re.Match[str]], name: str) -> list[re.Match[str]]:
    """Return the matches whose group is a number greater than 0."""
    return [match for match in matches if (runs.decimal(match[name]) or 0) > 0]


def parts(text: str, start: str, end: str | None = None) -> Iterator[tuple[int, str]]:
    """Yield place and text of the parts of a text, which begin where a pattern matches.

    Text before the first match belongs to the first part, and text after ``end`` to the next.
    """
    starts = [match.start() for match in _made(start).finditer(text)]
    begins = [0, *starts[1:]]
    if end is not None:
        ends = (text.rfind(end, *pair) for pair in pairwise(starts))
        begins[1:] = [max(begin, 0) or at for begin, at in zip(ends, starts[1:], strict=True)]
    for begin, following in pairwise([*begins, len(text)]):
        yield begin, text[begin:following]


_NUMBER = (
    r"(?<![0-9])[0-9]+(?:,[0-9]{3})*(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?(?![0-9eE]|\.(?:[0-9]|\Z)|\Z)"
)
"""A number, but not at the very end of a log, where it may be cut off."""
_SHORT = {
    "clock": r"[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}[T ,_][0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,6})?",
    "grid": r"[0-9]+(?:(?: *[x*×,] *| +)[0-9]+){1,3}",
    "mesh": r"[0-9]+(?:, *[0-9]+)*",
}


@cache
def _made(pattern: str) -> re.Pattern[str]:
    """Compile a pattern in which ``<name>`` stands for the usual text of that group: a number."""

    def spelled(short: re.Match[str]) -> str:
        what = _SHORT.get(short[1])
        return f"(?P<{short[1]}>{what})(?![0-9]|\\Z)" if what else f"(?P<{short[1]}>{_NUMBER})"

    return re.compile(re.sub(r"(?<!\?P)<([a-z_]+[0-9]?)>", spelled, pattern), re.MULTILINE)
