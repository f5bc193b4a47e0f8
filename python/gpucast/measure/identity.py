"""Under which id a path's records are kept: one for each set of devices, the same at each start."""

from __future__ import annotations

import hashlib
import secrets
from pathlib import Path

from gpucast.data.dataset import same_gpus
from gpucast.data.records import Machine
from gpucast.errors import InputError
from gpucast.measure.nvidia_smi import asked
from gpucast.measure.store import Store


def identified(store: Store, facts: Machine, path: str, named: str | None) -> Machine:
    """``facts`` under the id of this machine's path in the file, or under a new one.

    An id is ``NAME/PATH``: records of one id have the same GPUs, and a machine's paths have
    different ones. NAME is ``named``, or this machine's in the file, or made of
    facts about it, so that it is the same in the next file.

    Raises:
        InputError: ``named`` is another machine in the file.
    """
    for known in store.machines:
        name, _, label = known.id.rpartition("/")
        if label == path and named in (None, name) and _same_machine(known, facts, devices=True):
            return facts.model_copy(update={"id": known.id})
    name = named or _name_of(store, facts) or _usual_name(facts)
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


def _usual_name(facts: Machine) -> str:
    """Host and six digits that tell machines of one host name apart; the same at each start.

    The digits are a hash, of the installation's id, of host name, CPU and GPUs: what is published
    with the records tells none of these but those that the records state.
    """
    listed = asked("--query-gpu=uuid") or []
    told = [_installation(), facts.host or "", facts.cpu or "", *(row[0] for row in listed)]
    digest = hashlib.sha256("\n".join(["gpucast machine", *told]).encode()).hexdigest()
    return f"{facts.host or 'machine'}-{digest[:6]}"


def _installation() -> str:
    """What systemd calls the machine; where there is none, letters of this start alone."""
    try:
        return Path("/etc/machine-id").read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return secrets.token_hex(8)


def _name_of(store: Store, facts: Machine) -> str | None:
    for known in store.machines:
        name, slash, _ = known.id.rpartition("/")
        if slash and _same_machine(known, facts, devices=False):
            return name
    return None


def _same_machine(known: Machine, facts: Machine, *, devices: bool) -> bool:
    here = (known.host, known.cpu) == (facts.host, facts.cpu)
    return here and (not devices or same_gpus(known.gpus, facts.gpus))
