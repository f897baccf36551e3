# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""reduce: by kind, argmax and argmin, or with a combiner."""

from __future__ import annotations

from jaxlib.mlir import ir

from shoal.ir import Value, i64s
from shoal.jax.attributes import integers
from shoal.jax.importer import Importer
from shoal.jax.known import known_splat
from shoal.jax.reducers import (
    KINDS,
    SUMS,
    is_identity,
    places_of_extremum,
    reduce_kind,
    unsigned_extremum,
)
from shoal.jax.registry import OfComplex, imports
from shoal.jax.types import is_unsigned, with_element


@imports("stablehlo.reduce", of_complex=OfComplex.EACH | OfComplex.BOTH)
def reduce(importer: Importer, op: ir.Operation) -> list[Value]:
    block, arith = op.regions[0].blocks[0], importer.arith
    dims = sorted(integers(op, "dimensions"))
    if len(op.results) == 1:
        value = importer.operands(op)[0]
        if kind := reduce_kind(block):
            result = _by_kind(importer, op, kind, value, dims)
            return _with_init(importer, op, kind, result)
        if kind := unsigned_extremum(block):
            flipped = _by_kind(importer, op, kind, arith.flip_sign_bit(value), dims)
            return _with_init(importer, op, kind, arith.flip_sign_bit(flipped))
    direction = places_of_extremum(op, dims)
    if direction:
        return _extremum(importer, op, direction, dims[0])
    return _by_combiner(importer, op, dims)


def _by_kind(
    importer: Importer, op: ir.Operation, kind: str, value: Value, dims: list[int]
) -> Value:
    type = importer.type(op.results[0])
    attributes = {"kind": KINDS[kind], "dims": i64s(dims)}
    write = importer.arith.summed if kind in SUMS else importer.arith.op
    return write("shoal.reduce", [value], type, attributes)


def _with_init(importer: Importer, op: ir.Operation, kind: str, result: Value) -> list[Value]:
    """The initial value, too, where it is not the identity."""
    unsigned = is_unsigned(op.operands[0].type)
    number = known_splat(op.operands[1])
    if is_identity(kind, number, result.type.element, unsigned=unsigned):
        return [result]
    init = importer.arith.broadcast(importer.operands(op)[1], result.type)
    with importer.spread(result.type.shape):
        return importer.inline(op.regions[0].blocks[0], [init, result])


def _extremum(importer: Importer, op: ir.Operation, direction: str, dim: int) -> list[Value]:
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


def _by_combiner(importer: Importer, op: ir.Operation, dims: list[int]) -> list[Value]:
    region = combiner(importer, op.regions[0].blocks[0])
    return importer.emit(
        "shoal.reduce_region",
        importer.operands(op),
        importer.result_types(op),
        {"dims": i64s(dims)},
        [region],
    )


def combiner(importer: Importer, block: ir.Block):
    """A region of scalars."""
    with importer.scalars():
        return importer.region(block)
