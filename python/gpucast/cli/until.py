"""``--until``: a question in words, ``best n=3e6`` or ``forecast n=3e6 gpus=8 within=10%``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpucast.errors import InputError
from gpucast.util.number_lists import counts, sizes

if TYPE_CHECKING:
    from gpucast.design.questions import Question

FIELD = "--until"
_KEYS = {"best": ("n", "gpus", "within", "surely"), "forecast": ("n", "gpus", "within")}


def questions(texts: Sequence[str]) -> list[Question]:
    """Each as ``question`` reads it, one that is there twice once."""
    return [question(text) for text in dict.fromkeys(texts)]


def question(text: str) -> Question:
    """``best`` or ``forecast``, then ``n=`` and ``gpus=`` (default: what is measured), ``within=``
    and, of ``best``, ``surely=``, in any order.

    Raises:
        InputError: anything else.
    """
    from gpucast.design.questions import HALF_WIDTH, REGRET, SURELY, Question

    kind, *rest = text.split() or [""]
    if kind not in ("best", "forecast"):
        raise _wrong(f"{text!r} begins with neither 'best' nor 'forecast'")
    given: dict[str, str] = {}
    for word in rest:
        key, equals, value = word.partition("=")
        if key not in _KEYS[kind] or not equals or not value:
            known = ", ".join(f"{each}=" for each in _KEYS[kind])
            raise _wrong(f"{word!r} in {text!r} is none of {known}")
        if key in given:
            raise _wrong(f"{key}= is twice in {text!r}")
        given[key] = value
    within = _share(given, "within", REGRET if kind == "best" else HALF_WIDTH)
    return Question(
        "best" if kind == "best" else "forecast",
        tuple(sizes(given["n"], FIELD)) if "n" in given else (),
        tuple(map(int, counts(given["gpus"], FIELD))) if "gpus" in given else (),
        within,
        _share(given, "surely", SURELY),
        text=" ".join(text.split()),
    )


def _share(given: dict[str, str], key: str, usual: float) -> float:
    """``10%`` or ``0.1``, between 0 and 1."""
    if key not in given:
        return usual
    text = given[key]
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = float("nan")
    if not 0 < value < 1:
        raise _wrong(f"{key}={text} is no share between 0 % and 100 %")
    return value


def _wrong(text: str) -> InputError:
    return InputError(f"{text}, such as 'best n=3e6' or 'forecast n=3e6 gpus=8 within=10%'",
                      field=FIELD)  # fmt: skip
