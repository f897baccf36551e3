# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where a StableHLO module says something of shardings."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy

from shoal.jax import gspmd, shardy
from shoal.jax.attributes import dictionaries, string, text_in

GSPMD, SHARDY = "mhlo.sharding", "sdy.sharding"
# Custom calls around what GSPMD's programs write for one device.
FULL_TO_SHARD, SHARD_TO_FULL = "SPMDFullToShardShape", "SPMDShardToFullShape"
# Ops that are annotations themselves.
ANNOTATIONS = ("stablehlo.custom_call", "sdy.sharding_constraint", "sdy.manual_computation")


def unspecified_dims(attributes) -> tuple[int, ...]:
    """The dimensions that a custom_call @Sharding leaves open: `unspecified_dims=[0,1]`."""
    config = attributes["backend_config"] if "backend_config" in attributes else None
    found = re.search(r"unspecified_dims=\[([\d,\s]*)\]", str(config))
    return tuple(int(dim) for dim in found[1].split(",")) if found and found[1] else ()


def is_manual(op: ir.Operation) -> bool:
    """Whether an op has or calls a body that is written for one device."""
    is_call = op.name == "func.call"
    return op.name == "sdy.manual_computation" or is_call and exits_of(op) is not None


def exits_of(op: ir.Operation) -> list[ir.Operation] | None:
    """The shard_to_full that reads each result of a call; None where one does not."""
    found = [_exit_of(result) for result in op.results]
    return found if found and all(found) else None


def _exit_of(value: ir.Value) -> ir.Operation | None:
    for use in value.uses:
        reader = use.owner.operation
        target = string(reader, "call_target_name")
        if target == SHARD_TO_FULL:
            return reader
        if target == "Sharding":
            return _exit_of(reader.results[0])
    return None


def walk(op: ir.Operation) -> Iterator[ir.Operation]:
    yield op
    for region in op.regions:
        for block in region.blocks:
            for nested in block.operations:
                yield from walk(nested.operation)


def _attributes_of(op: ir.Operation) -> Iterator:
    """The op's dictionary of attributes, and those of a function's arguments and results."""
    yield op.attributes
    for key in ("arg_attrs", "res_attrs"):
        yield from dictionaries(op, key)


def tilings_of(op: ir.Operation) -> Iterator[gspmd.Tiling]:
    for attributes in _attributes_of(op):
        if GSPMD in attributes:
            for said in gspmd.parse(text_in(attributes, GSPMD)):
                if isinstance(said, gspmd.Tiling):
                    yield said


def sdy_shardings(op: ir.Operation) -> Iterator[sdy.TensorShardingAttr]:
    for attributes in _attributes_of(op):
        for key in (SHARDY, "sharding", "in_shardings", "out_shardings"):
            if key in attributes and str(attributes[key]).startswith("#sdy.sharding"):
                yield from shardy.per_value(attributes[key])
