"""Under which id a path's records are kept: one for each set of devices, the same at each start."""

from __future__ import annotations

import secrets

from gpucast.data.dataset import same_gpus
from gpucast.data.records import Machine
from gpucast.errors import InputError
from gpucast.measure.store import Store


def identified(store: Store, facts: Machine, path: str, named: str | None) -> Machine:
    """``facts`` under the id of this machine's path in the file, or under a new one.

    An id is ``NAME/PATH``: records of one id have the same GPUs, and a machine's paths have
    different ones. NAME is ``named``, or this machine's in the file, or host and a few letters.

    Raises:
        InputError: ``named`` is another machine in the file.
    """
    for known in store.machines:
        name, _, label = known.id.rpartition("/")
        if label == path and named in (None, name) and _same_machine(known, facts, devices=True):
            return facts.model_copy(update={"id": known.id})
    name = named or _name_of(store, facts) or f"{facts.host or 'machine'}-{secrets.token_hex(3)}"
    made = f"{name}/{path}"
    if any(known.id == made for known in store.machines):
        if named is not None:
            raise InputError(
                f"{made!r} is another machine there; give this one another name",
                file=store.name,
                field="machine",
            )
        made = f"{name}-{secrets.token_hex(3)}/{path}"
    return facts.model_copy(update={"id": made})


def _name_of(store: Store, facts: Machine) -> str | None:
    for known in store.machines:
        name, slash, _ = known.id.rpartition("/")
        if slash and _same_machine(known, facts, devices=False):
            return name
    return None


def _same_machine(known: Machine, facts: Machine, *, devices: bool) -> bool:
    here = (known.host, known.cpu) == (facts.host, facts.cpu)
    return here and (not devices or same_gpus(known.gpus, facts.gpus))
