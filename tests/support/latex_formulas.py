"""Formulas of a Markdown page, evaluated: the small part of LaTeX that the pages use.

Sums, products (also by writing side by side), quotients (``/``, ``\\frac``), powers, ceilings,
parentheses, numbers, symbols such as ``n`` or ``t_\\text{gpu}`` (name: ``t_gpu``), and functions,
which are symbols that ``values`` holds a callable for: ``T_\\text{h2d}(16 n)``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path

Values = Mapping[str, float | Callable[[float], float]]

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?)"
    r"|(?P<symbol>[A-Za-z](?:_(?:\\text\{\w+\}|\w))?)"
    r"|(?P<sign>\\frac|\\left\\lceil|\\right\\rceil|\\left\(|\\right\)|[-+/^(){}]))"
)


def formulas(page: Path) -> dict[str, list[str]]:
    """Right-hand sides of the displayed formulas under each heading that is one word."""
    found: dict[str, list[str]] = {}
    text = page.read_text(encoding="utf-8")
    for section in re.split(r"^#+ ", text, flags=re.MULTILINE)[1:]:
        heading, _, body = section.partition("\n")
        displayed = re.findall(r"^\$\$\n(.*?)\n\$\$", body, re.MULTILINE | re.DOTALL)
        if displayed and " " not in heading:
            found[heading] = [formula.partition("=")[2] for formula in displayed]
    return found


def evaluate(formula: str, values: Values) -> float:
    """The formula's value.

    Raises:
        ValueError: something is not understood, or not all of it.
        KeyError: a symbol has no value.
    """
    reader = _Reader(formula, values)
    result = reader.sum()
    if reader.tokens:
        raise ValueError(f"not understood in {formula!r}: {reader.tokens}")
    return result


class _Reader:
    def __init__(self, formula: str, values: Values) -> None:
        self.values = values
        self.tokens: list[tuple[str, str]] = []
        at = 0
        text = formula.replace("\\,", " ").strip()
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None or match.lastgroup is None:
                raise ValueError(f"not understood in {formula!r}: {text[at:]!r}")
            sign = match[match.lastgroup].replace("\\left(", "(").replace("\\right)", ")")
            self.tokens.append((match.lastgroup, sign))
            at = match.end()

    def next_is(self, *signs: str) -> bool:
        return bool(self.tokens) and self.tokens[0][1] in signs

    def take(self, sign: str) -> None:
        if not self.next_is(sign):
            raise ValueError(f"{sign} expected before {self.tokens}")
        self.tokens.pop(0)

    def sum(self) -> float:
        total = self.product()
        while self.next_is("+", "-"):
            _, sign = self.tokens.pop(0)
            total += self.product() if sign == "+" else -self.product()
        return total

    def product(self) -> float:
        result = self.power()
        while self.tokens and not self.next_is("+", "-", ")", "}", "\\right\\rceil"):
            if self.next_is("/"):
                self.take("/")
                result /= self.power()
            else:
                result *= self.power()
        return result

    def power(self) -> float:
        base = self.factor()
        if self.next_is("^"):
            self.take("^")
            exponent = self.enclosed("{", "}") if self.next_is("{") else self.factor()
            return float(base**exponent)
        return base

    def enclosed(self, begin: str, end: str) -> float:
        self.take(begin)
        result = self.sum()
        self.take(end)
        return result

    def factor(self) -> float:
        if self.next_is("("):
            return self.enclosed("(", ")")
        if self.next_is("\\left\\lceil"):
            return math.ceil(self.enclosed("\\left\\lceil", "\\right\\rceil"))
        if self.next_is("\\frac"):
            self.take("\\frac")
            return self.enclosed("{", "}") / self.enclosed("{", "}")
        kind, text = self.tokens.pop(0)
        if kind == "number":
            return float(text)
        if kind == "symbol":
            value = self.values[re.sub(r"\\text\{(\w+)\}", r"\1", text)]
            return value(self.enclosed("(", ")")) if callable(value) else value
        raise ValueError(f"unexpected {text!r}")
