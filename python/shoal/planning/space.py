# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The mappings among which a plan is chosen."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shoal.errors import InputError, ShoalError
from shoal.models.config import ModelConfig
from shoal.moe.reach import mean_places
from shoal.planning.columns import Column, Space, column_of
from shoal.planning.mapping import RECOMPUTED, Mapping
from shoal.simulation.machines import Machine, node_of

__all__ = ["Job", "mappings"]

# Sequences in a micro-batch, and tokens of a sequence that a device of cp has at least.
_MOST_SEQUENCES, _FEWEST_TOKENS = 8, 1024
# What may count as a layer of a stage: an embedding, a head, a prediction of a second token.
_COUNT_AS_LAYERS = 3
# What is chosen; other fields of a mapping are the job's.
_CHOSEN = ("tp", "cp", "ep", "etp", "pp", "stages", "micro_batch", "dispatch", "recompute")


@dataclass(frozen=True)
class Job:
    """What is trained, whichever way. fixed: fields of `Mapping` that hold, those that are else chosen among them."""

    devices: int
    global_batch: int
    sequence: int = 4096
    fixed: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("devices", "global_batch", "sequence"):
            if getattr(self, name) < 1:
                raise InputError(f"plan: {name} {getattr(self, name)} is not positive")


def divisors(number: int, most: int | None = None) -> list[int]:
    """From 1 on."""
    return [each for each in range(1, min(number, most or number) + 1) if number % each == 0]


def mappings(config: ModelConfig, machine: Machine, job: Job) -> Space:
    """All of the space, in an order that depends on nothing else.

    tp: divides the devices of the innermost level, attention's heads, and keys' where there are as many. cp: leaves 1,024
    tokens of a sequence. ep: divides experts. etp: divides tp. Groups of experts lie within those of tp and cp or around
    them, as one mesh has both. pp: divides layers, or these with an embedding, a head and a prediction of a second token that
    count as layers. stages: one a device, or as many as it has layers, since more neither take longer nor hold more.
    micro_batch: at most 8 sequences. dispatch: "flex", too, where experts lie over several nodes.
    """
    again = _either(job, "recompute", list(RECOMPUTED))
    rows, fields = [], {}
    for tp, cp, pp in _attention(config, machine, job):
        experts = [
            (*sizes, dispatch)
            for sizes in _experts(config, job, (tp, cp), job.devices // pp)
            # Of equal ones those that send rows at once come first.
            for dispatch in _either(job, "dispatch", _dispatches(config, machine, (tp, cp, *sizes)))
        ]
        for micro_batch, stages in _passing(config, job, (tp, cp, pp)):
            sizes = {"tp": tp, "cp": cp, "pp": pp, "micro_batch": micro_batch, "stages": stages}
            found = _fields(job, {**sizes, "recompute": again[0]})
            fields = found or fields
            if found:
                rows += [(tp, cp, ep, etp, pp, stages, micro_batch, dispatch) for ep, etp, dispatch in experts]
    return _table(fields, rows, again)


def _fields(job: Job, sizes: dict[str, Any]) -> dict[str, Any] | None:
    """Of a mapping of such sizes; None where there is none."""
    beside: dict[str, Any] = {"sums_beside": True, "gathers_beside": True, **job.fixed, **sizes, "ep": 1, "etp": 1}
    try:
        return dict(Mapping(job.devices, global_batch=job.global_batch, sequence=job.sequence, **beside).__dict__)
    except ShoalError:
        return None


def _table(fields: dict[str, Any], rows: list[tuple[Any, ...]], again: list[str]) -> Space:
    """Each row with each recomputation."""
    columns: dict[str, Column] = {}
    for name, each in zip(_CHOSEN, zip(*rows) if rows else [()] * len(_CHOSEN)):
        values, places = column_of(each)
        columns[name] = values, np.repeat(places, len(again))
    columns["recompute"] = again, np.tile(np.arange(len(again)), len(rows))
    return Space({name: value for name, value in fields.items() if name not in columns}, columns)


def _passing(config: ModelConfig, job: Job, attention: tuple[int, int, int]) -> Iterator[tuple[int, int]]:
    """Of tp, cp and pp: sequences of a micro-batch, and stages of a device."""
    tp, cp, pp = attention
    dp = job.devices // (tp * cp * pp)
    for micro_batch in _either(job, "micro_batch", divisors(max(job.global_batch // dp, 1), _MOST_SEQUENCES)):
        if job.global_batch % (micro_batch * dp) == 0:
            micro_batches = job.global_batch // (micro_batch * dp)
            for stages in _either(job, "stages", _stages(config, pp, micro_batches, job)):
                yield micro_batch, stages


def _either(job: Job, name: str, sizes: list[Any]) -> list[Any]:
    """What holds, or all there are."""
    return [job.fixed[name]] if name in job.fixed else sizes


def _attention(config: ModelConfig, machine: Machine, job: Job) -> Iterator[tuple[int, int, int]]:
    inner = machine.levels[0][1] if machine.levels else 1
    for tp in _either(job, "tp", [each for each in divisors(job.devices, inner) if _has_heads(config, each)]):
        most = max(1, job.sequence // _FEWEST_TOKENS)
        for cp in _either(job, "cp", [each for each in divisors(job.devices, most) if job.sequence % each == 0]):
            for pp in _either(job, "pp", [each for each in divisors(job.devices) if _layers(config, each)]):
                if job.devices % (tp * cp * pp) == 0:
                    yield tp, cp, pp


def _has_heads(config: ModelConfig, tp: int) -> bool:
    keys = config.num_key_value_heads
    return config.num_attention_heads % tp == 0 and (config.latent is not None or keys % tp == 0)


def _experts(config: ModelConfig, job: Job, attention: tuple[int, int], devices: int) -> Iterator[tuple[int, int]]:
    tp, cp = attention
    for ep in _either(job, "ep", divisors(config.moe.num_experts, devices)):
        for etp in _either(job, "etp", divisors(tp)):
            # One mesh has the groups of both: of 2 and of 3 devices none has.
            is_mesh = all(_nests(*cuts) for cuts in itertools.product((tp, tp * cp), (etp, etp * ep)))
            if is_mesh and devices % (ep * etp) == 0 and config.moe.moe_ffn_hidden_size % etp == 0:
                yield ep, etp


def _dispatches(config: ModelConfig, machine: Machine, sizes: tuple[int, int, int, int]) -> list[str]:
    """Of tp, cp, ep and etp: rows at once, and, where experts lie over several whole nodes, once to a node."""
    tp, cp, ep, etp = sizes
    node = node_of(machine)
    moe = config.moe
    if node is None or moe.moe_token_dispatcher_type != "alltoall" or moe.moe_expert_capacity_factor is not None:
        return ["alltoall"]
    nodes = ep * etp // node
    crosses = nodes > 1 and all(_nests(node, size) for size in (tp, tp * cp, etp, etp * ep))
    if not crosses or ep % nodes:
        return ["alltoall"]
    # Of as many tokens as choices none would be saved.
    mean = mean_places(moe, moe.moe_router_topk, nodes, -(-moe.num_experts // ep) * ep // nodes)
    return ["alltoall", "flex"] if mean < moe.moe_router_topk else ["alltoall"]


def _nests(one: int, other: int) -> bool:
    return one % other == 0 or other % one == 0


def _stages(config: ModelConfig, pp: int, micro_batches: int, job: Job) -> list[int]:
    if pp == 1 or micro_batches % pp or job.fixed.get("schedule", "1f1b") != "1f1b":
        return [1]
    return sorted({1, _layers(config, pp) // pp})


def _layers(config: ModelConfig, pp: int) -> int:
    """How many are distributed over stages, all alike: the model's with those that count as one; 0 where they are not."""
    counts = range(config.num_hidden_layers, config.num_hidden_layers + _COUNT_AS_LAYERS + 1)
    return next((count for count in counts if count % pp == 0 and config.num_hidden_layers >= pp), 0)
