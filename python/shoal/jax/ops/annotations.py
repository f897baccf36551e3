# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Annotations: ops of Shardy, and the custom calls that GSPMD has for them."""

from __future__ import annotations

from functools import partial
from typing import Any

from jaxlib.mlir import ir

from shoal.ir import Value
from shoal.jax import gspmd, shardy
from shoal.jax.annotations import GSPMD, unspecified_dims
from shoal.jax.attributes import HINT, string
from shoal.jax.importer import Importer
from shoal.jax.registry import OfComplex, imports
from shoal.mesh import Sharding


def constrained(importer: Importer, value: Value, sharding: Sharding | None, is_hint: bool = False) -> Value:
    """The value, annotated where the sharding says something."""
    if sharding is None or importer.shardings.is_open(sharding):
        return value
    attributes: dict[str, str | None] = {"sharding": sharding.attribute()}
    if is_hint:
        attributes["hint"] = None
    return importer.emit("shoal.sharding_constraint", [value], value.type, attributes)[0]


def constrained_by(importer: Importer, value: Value, attribute: ir.Attribute, is_hint: bool = False) -> Value:
    """As `constrained`, by an `#sdy.sharding`."""
    sharding = importer.shardings.of_sdy(attribute, len(value.type.shape))
    return constrained(importer, value, sharding, is_hint)


@imports("sdy.mesh")
def mesh(importer: Importer, op: ir.Operation) -> list[Value]:
    """The ShardingImporter has declared it."""
    return []


@imports("sdy.sharding_constraint", "sdy.reshard", of_complex=OfComplex.EACH, moves=True)
def sharding_constraint(importer: Importer, op: ir.Operation) -> Value:
    value = importer.operands(op)[0]
    if importer.in_combiner:
        return value
    return constrained_by(importer, value, op.attributes["sharding"], HINT in op.attributes)


@imports(
    "sdy.all_gather",
    "sdy.all_slice",
    "sdy.all_to_all",
    "sdy.collective_permute",
    "sdy.reduce_scatter",
    "sdy.all_reduce",
    "sdy.sharded_to_unreduced",
    "sdy.replicated_to_unreduced",
    of_complex=OfComplex.EACH,
    moves=True,
)
def change_of_sharding(importer: Importer, op: ir.Operation) -> Value:
    """On whole tensors these are the identity: values that end in another sharding."""
    return constrained_by(importer, importer.operands(op)[0], op.attributes["out_sharding"])


@imports(
    "sdy.propagation_barrier",
    "sdy.data_flow_edge",
    "sdy.func_data_flow_edge",
    of_complex=OfComplex.EACH,
    moves=True,
)
def identity(importer: Importer, op: ir.Operation) -> Value:
    """These steer Shardy's propagation and say nothing of values."""
    return importer.operands(op)[0]


@imports(
    "stablehlo.custom_call @ShardBarrierFrom",
    "stablehlo.custom_call @ShardBarrierTo",
    of_complex=OfComplex.EACH,
    moves=True,
)
def barrier(importer: Importer, op: ir.Operation) -> list[Value]:
    """What GSPMD's propagation does not pass: no result depends on it."""
    return importer.operands(op)


@imports("sdy.named_computation", of_complex=OfComplex.BOTH, moves=True)
def named_computation(importer: Importer, op: ir.Operation) -> list[Value]:
    """What its body computes; its shardings are those of edges into and out of it."""
    sides = {}
    for side, values in (("in_shardings", op.operands), ("out_shardings", op.results)):
        found = shardy.per_value(op.attributes[side]) if side in op.attributes else []
        sides[side] = [*found] or [None] * len(values)
    operands = map(partial(_edge, importer), importer.operands(op), sides["in_shardings"])
    made = importer.inline_at(op, op.regions[0].blocks[0], list(operands))
    return list(map(partial(_edge, importer), made, sides["out_shardings"]))


def _edge(importer: Importer, value: Value, sharding: ir.Attribute | None) -> Value:
    return value if sharding is None else constrained_by(importer, value, sharding)


@imports("sdy.sharding_group", of_complex=OfComplex.EACH, moves=True)
def sharding_group(importer: Importer, op: ir.Operation) -> list[Value]:
    """Which values Shardy is to shard alike: a wish that no result depends on."""
    return []


@imports("stablehlo.custom_call @Sharding", of_complex=OfComplex.EACH, moves=True)
def gspmd_constraint(importer: Importer, op: ir.Operation) -> Value | list[Any]:
    value = importer.operands(op)[0]
    if importer.in_combiner or not isinstance(value, Value) or GSPMD not in op.attributes:
        return [value]
    said = gspmd.parse(string(op, GSPMD))[0]
    open_dims = unspecified_dims(op.attributes)
    rank = len(value.type.shape)
    return constrained(importer, value, importer.shardings.of_gspmd(said, rank, open_dims))
