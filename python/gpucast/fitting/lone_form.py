"""Names of forms that were fitted to traces of one GPU count.

What more GPUs cost, such traces do not tell (``model.lone_count``). Terms of several GPUs are in
the fit all the same, with what priors say of them: on one GPU they are nothing, and on several
those that do not depend on n cannot be told from ``start``. So the name of a form leaves them out.
"""

from __future__ import annotations

from typing import Final

from gpucast import _core

_SIZES: Final = (1e3, 8e3)
_OF_EXCHANGE: Final = ("hidden in part", "hidden")
"""Overlaps of exchange with work (model/scaling/form.h)."""


def tells(term: str, gpus: int) -> bool:
    """Whether steps of so many GPUs alone tell anything of a term."""
    at = [_core.scaling_shape(term, n, float(gpus)) for n in _SIZES]
    alone = [_core.scaling_shape(term, n, 1.0) for n in _SIZES]
    return any(at) and (any(alone) or at[0] != at[1])


def name_with(form: str, gpus: int | None) -> str:
    """A form without terms of which the only GPU count tells nothing; None: there are several.

    Forms are named as ``Form::name`` does: terms, how work grows, what overlaps.
    """
    if gpus is None:
        return form
    terms, *rest = form.split(", ")
    kept = [each for each in terms.split(" + ") if tells(each, gpus)]
    if not any(_core.SCALING_TERMS[each][1] == "com" for each in kept):
        rest = [each for each in rest if each not in _OF_EXCHANGE]
    return ", ".join([" + ".join(kept), *rest]) if kept else form
