# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops that place elements elsewhere, and iota."""

from __future__ import annotations

from jaxlib.mlir import ir

from shoal.ir import Value, i64s
from shoal.jax.attributes import integer, integers
from shoal.jax.importer import Importer
from shoal.jax.registry import OfComplex, imports, refuses


@imports("stablehlo.iota")
def iota(importer: Importer, op: ir.Operation) -> Value:
    type = importer.type(op.results[0])
    dim = {"dim": f"{integer(op, 'iota_dimension')} : i64"}
    return importer.arith.op("shoal.iota", [], type, dim)


def _write(importer: Importer, op: ir.Operation, name: str, **attributes: str) -> Value:
    """An op with the same operands and result type."""
    type = importer.type(op.results[0])
    return importer.arith.op(name, importer.operands(op), type, attributes)


@imports("stablehlo.broadcast_in_dim", of_complex=OfComplex.EACH, moves=True)
def broadcast_in_dim(importer: Importer, op: ir.Operation) -> Value:
    (value,), type = importer.operands(op), importer.type(op.results[0])
    dims = integers(op, "broadcast_dimensions")
    if value.type == type and dims == sorted(dims):
        return value
    return _write(importer, op, "shoal.broadcast_in_dim", dims=i64s(dims))


@imports("stablehlo.broadcast", of_complex=OfComplex.EACH, moves=True)
def broadcast(importer: Importer, op: ir.Operation) -> Value:
    """New dimensions stand in front."""
    new = len(integers(op, "broadcast_sizes"))
    rank = len(importer.operands(op)[0].type.shape)
    return _write(importer, op, "shoal.broadcast_in_dim", dims=i64s(range(new, new + rank)))


@imports("stablehlo.transpose", of_complex=OfComplex.EACH, moves=True)
def transpose(importer: Importer, op: ir.Operation) -> Value:
    permutation = integers(op, "permutation")
    if permutation == sorted(permutation):
        return importer.operands(op)[0]
    return _write(importer, op, "shoal.transpose", permutation=i64s(permutation))


@imports("stablehlo.reverse", of_complex=OfComplex.EACH, moves=True)
def reverse(importer: Importer, op: ir.Operation) -> Value:
    return _write(importer, op, "shoal.reverse", dims=i64s(sorted(integers(op, "dimensions"))))


@imports("stablehlo.concatenate", of_complex=OfComplex.EACH, moves=True)
def concatenate(importer: Importer, op: ir.Operation) -> Value:
    return _write(importer, op, "shoal.concatenate", dim=f"{integer(op, 'dimension')} : i64")


@imports("stablehlo.slice", of_complex=OfComplex.EACH, moves=True)
def slice_(importer: Importer, op: ir.Operation) -> Value:
    return _write(
        importer,
        op,
        "shoal.slice",
        starts=i64s(integers(op, "start_indices")),
        limits=i64s(integers(op, "limit_indices")),
        strides=i64s(integers(op, "strides")),
    )


@imports("stablehlo.pad", of_complex=OfComplex.EACH, moves=True)
def pad(importer: Importer, op: ir.Operation) -> Value:
    return _write(
        importer,
        op,
        "shoal.pad",
        low=i64s(integers(op, "edge_padding_low")),
        high=i64s(integers(op, "edge_padding_high")),
        interior=i64s(integers(op, "interior_padding")),
    )


@imports("stablehlo.get_dimension_size", moves=True)
def get_dimension_size(importer: Importer, op: ir.Operation) -> Value:
    """Shapes are static."""
    size = op.operands[0].type.shape[integer(op, "dimension")]
    return importer.arith.constant(importer.type(op.results[0]), size)


refuses(
    "stablehlo.dynamic_broadcast_in_dim",
    "stablehlo.dynamic_conv",
    "stablehlo.dynamic_gather",
    "stablehlo.dynamic_iota",
    "stablehlo.dynamic_pad",
    "stablehlo.dynamic_reshape",
    "stablehlo.real_dynamic_slice",
    "stablehlo.set_dimension_size",
    reason="a size that the program does not say; shapes are static",
)
