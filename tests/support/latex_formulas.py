"""Formulas of a Markdown page, evaluated: the small part of LaTeX that the pages use.

Sums, products (also by writing side by side), quotients (``/``, ``\\frac``), powers, ceilings,
parentheses, numbers, symbols such as ``n`` or ``t_\\text{gpu}`` (name: ``t_gpu``), and functions,
which are symbols that ``values`` holds a callable for: ``T_\\text{h2d}(16 n)``.
"""

import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path

Values = Mapping[str, float | Callable[[float], float]]

_IN_PYTHON = (
    (r"\\text\{(\w+)\}", r"\1 "),
    (r"\\,|\\left(?=\()|\\right(?=\))", " "),
    (r"\\left\\lceil", "ceil("),
    (r"\\right\\rceil", ")"),
)
_INNERMOST = re.compile(r"\\frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}|\^\s*\{([^{}]*)\}")
_TOKEN = re.compile(r"\d+(?:\.\d+)?|ceil|[A-Za-z](?:_\w+)?|[-+/^()]")


def formulas(page: Path) -> dict[str, list[str]]:
    """Right-hand sides of the displayed formulas under each heading that is one word."""
    by_heading: dict[str, list[str]] = {}
    text = page.read_text(encoding="utf-8")
    for section in re.split(r"^#+ ", text, flags=re.MULTILINE)[1:]:
        heading, _, body = section.partition("\n")
        displayed = re.findall(r"^\$\$\n(.*?)\n\$\$", body, re.MULTILINE | re.DOTALL)
        if displayed and " " not in heading:
            by_heading[heading] = [formula.partition("=")[2] for formula in displayed]
    return by_heading


def evaluate(formula: str, values: Values) -> float:
    """The formula's value.

    Raises:
        ValueError: something is not understood, or not all of it.
        NameError: a symbol has no value.
    """
    text = formula
    for latex, python in _IN_PYTHON:
        text = re.sub(latex, python, text)
    while _INNERMOST.search(text):
        text = _INNERMOST.sub(lambda m: f"^({m[3]})" if m[3] else f"(({m[1]})/({m[2]}))", text)
    tokens = _TOKEN.findall(text)
    if "".join(tokens) != re.sub(r"\s", "", text):
        raise ValueError(f"not understood in {formula!r}: {text}")
    functions = {"ceil", *(name for name, value in values.items() if callable(value))}
    written = ""
    for before, token in zip(["(", *tokens], tokens, strict=False):
        # Two factors side by side.
        if before not in "-+/^(" and token not in "-+/^)" and before not in functions:
            written += "*"
        written += "**" if token == "^" else token
    try:
        return float(eval(written, {"__builtins__": {}, "ceil": math.ceil, **values}))
    except SyntaxError as error:
        raise ValueError(f"not understood in {formula!r}: {written}") from error
