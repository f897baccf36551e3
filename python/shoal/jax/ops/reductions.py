# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""reduce: by kind, argmax and argmin, or with a combiner."""

from __future__ import annotations

from jaxlib.mlir import ir

from shoal.ir import Value, i64s
from shoal.jax.attributes import integers
from shoal.jax.known import known_splat
from shoal.jax.ops.elementwise import op_name
from shoal.jax.reducers import (
    KINDS,
    is_identity,
    places_of_extremum,
    reduce_kind,
    unsigned_extremum,
)
from shoal.jax.registry import imports
from shoal.jax.types import is_unsigned, with_element


@imports("stablehlo.reduce")
def reduce(importer, op: ir.Operation) -> list[Value]:
    block = op.regions[0].blocks[0]
    dims = sorted(integers(op, "dimensions"))
    if len(op.results) == 1:
        kind = reduce_kind(block)
        if kind:
            return [_by_kind(importer, op, kind, dims)]
        extremum = unsigned_extremum(block)
        if extremum:
            return [_of_unsigned(importer, op, extremum, dims)]
    direction = places_of_extremum(op, dims)
    if direction:
        return _extremum(importer, op, direction, dims[0])
    return _by_combiner(importer, op, dims)


def _by_kind(importer, op: ir.Operation, kind: str, dims: list[int]) -> Value:
    value, init = importer.operands(op)
    result = importer.arith.op(
        "shoal.reduce",
        [value],
        importer.type(op.results[0]),
        {"kind": KINDS[kind], "dims": i64s(dims)},
    )
    if is_identity(kind, known_splat(op.operands[1]), value.type.element):
        return result
    init = importer.arith.broadcast(init, result.type)
    inner = op.regions[0].blocks[0].operations[0].operation
    return importer.arith.op(
        op_name(inner) if inner.name in _NAMED else _LOGIC[kind], [init, result]
    )


def _of_unsigned(importer, op: ir.Operation, kind: str, dims: list[int]) -> Value:
    """An extremum of unsigned integers, in the order of signed ones."""
    arith = importer.arith
    value, init = map(arith.flip_sign_bit, importer.operands(op))
    type, attributes = importer.type(op.results[0]), {"kind": KINDS[kind], "dims": i64s(dims)}
    result = arith.op("shoal.reduce", [value], type, attributes)
    name = "arith.maxsi" if kind == "maximum" else "arith.minsi"
    return arith.flip_sign_bit(arith.op(name, [arith.broadcast(init, type), result]))


_NAMED = tuple(f"stablehlo.{name}" for name in ("add", "multiply", "maximum", "minimum"))
_LOGIC = {"and": "arith.andi", "or": "arith.ori"}


def _extremum(importer, op: ir.Operation, direction: str, dim: int) -> list[Value]:
    """The pair of JAX's argmax: the extreme value, where it is used, and its place."""
    arith, value = importer.arith, importer.operands(op)[0]
    place = importer.type(op.results[1])
    if is_unsigned(op.operands[0].type) and value.type.element != "i1":
        signed = arith.flip_sign_bit(value)
    else:
        signed = value
    # Results are i32 or i64; narrower ones are truncated.
    wide = place if place.element in ("i32", "i64") else with_element(place, "i32")
    found = arith.op(f"shoal.arg{direction}", [signed], wide, {"dim": f"{dim} : i64"})
    places = arith.convert(found, place.element)
    if not list(op.results[0].uses):
        return [value, places]  # nobody reads the first
    type = importer.type(op.results[0])
    kind = KINDS["maximum" if direction == "max" else "minimum"]
    extreme = arith.op("shoal.reduce", [signed], type, {"kind": kind, "dims": i64s([dim])})
    return [extreme if signed is value else arith.flip_sign_bit(extreme), places]


def _by_combiner(importer, op: ir.Operation, dims: list[int]) -> list[Value]:
    region = combiner(importer, op.regions[0].blocks[0])
    return importer.emit(
        "shoal.reduce_region",
        importer.operands(op),
        importer.result_types(op),
        {"dims": i64s(dims)},
        [region],
    )


def combiner(importer, block: ir.Block):
    """A region of scalars."""
    with importer.scalars():
        return importer.region(block)
