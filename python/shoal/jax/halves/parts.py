# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops that make complex numbers of real ones, and real ones of complex ones."""

from __future__ import annotations

from typing import Any

from jaxlib.mlir import ir

from shoal.jax.attributes import case, integers
from shoal.jax.halves.pairs import Pair, half_of, is_complex, tensor_of
from shoal.jax.halves.rules import rule
from shoal.jax.refusals import Unsupported


@rule("stablehlo.constant")
def constant(rewriter: Any, op: ir.Operation) -> list[Pair]:
    return [rewriter.constant(op)]


@rule("stablehlo.complex")
def complex_(rewriter: Any, op: ir.Operation) -> list[Pair]:
    return [Pair(*op.operands)]


@rule("stablehlo.real")
def real(rewriter: Any, op: ir.Operation) -> list[ir.Value]:
    return [rewriter.pairs[op.operands[0]].real]


@rule("stablehlo.imag")
def imag(rewriter: Any, op: ir.Operation) -> list[ir.Value]:
    return [rewriter.pairs[op.operands[0]].imag]


@rule("stablehlo.convert")
def convert(rewriter: Any, op: ir.Operation) -> list[Any] | None:
    """A real number has no imaginary half; of a complex one the real half alone stays."""
    value, result = op.operands[0], op.results[0]
    if is_complex(value.type) and is_complex(result.type):
        return None
    if is_complex(value.type):
        return [rewriter.copy(op, [rewriter.pairs[value].real])]
    return [Pair(rewriter.copy(op, [value]), rewriter.zero(half_of(result.type)))]


@rule("stablehlo.iota")
def iota(rewriter: Any, op: ir.Operation) -> list[Pair]:
    return [Pair(rewriter.copy(op, []), rewriter.zero(half_of(op.results[0].type)))]


@rule("stablehlo.compare")
def compare(rewriter: Any, op: ir.Operation) -> list[ir.Value]:
    """Equal are numbers whose halves are; there is no other order."""
    direction = case(op, "comparison_direction")
    if direction not in ("EQ", "NE"):
        raise Unsupported(f"complex numbers have no order {direction}")
    left, right = (rewriter.pairs[operand] for operand in op.operands)
    parts = [rewriter.copy(op, halves) for halves in zip(left, right)]
    joined = "stablehlo.and" if direction == "EQ" else "stablehlo.or"
    return [rewriter.emit(joined, parts, op.results[0].type)]


@rule("stablehlo.fft")
def fft(rewriter: Any, op: ir.Operation) -> list[Any]:
    """One dimension after the other, so that devices may split all but the one at hand.

    Real lines are along the last dimension: the first one to be transformed, or the last one of
    an inverse.
    """
    kind, lengths = case(op, "fft_type"), integers(op, "fft_length")
    value, is_inverse = op.operands[0], kind in ("IFFT", "IRFFT")
    rank, shape = len(value.type.shape), list(value.type.shape)
    parts = rewriter.parts(value)
    dims = list(range(rank - 1, rank - 1 - len(lengths), -1))
    if is_inverse:
        dims.reverse()
    for dim in dims:
        is_real = kind in ("RFFT", "IRFFT") and dim == rank - 1
        if is_real:
            shape[dim] = lengths[-1] if is_inverse else lengths[-1] // 2 + 1
        count = 1 if is_real and is_inverse else 2
        parts = _transformed(rewriter, parts, shape, count, dim, is_inverse)
    return [Pair(*parts)] if len(parts) == 2 else parts


def _transformed(
    rewriter: Any, parts: list[ir.Value], shape: list[int], count: int, dim: int, is_inverse: bool
) -> list[ir.Value]:
    """The op along one dimension, which has an importer: of complex lines two results, else one."""
    context = parts[0].context
    i64 = ir.IntegerType.get_signless(64, context)
    attributes = {
        "call_target_name": ir.StringAttr.get("shoal.fft", context),
        "shoal.dim": ir.IntegerAttr.get(i64, dim),
        "shoal.inverse": ir.BoolAttr.get(is_inverse, context),
    }
    types = [tensor_of(shape, parts[0].type.element_type)] * count
    return list(rewriter.emit_all("stablehlo.custom_call", parts, types, attributes).results)
