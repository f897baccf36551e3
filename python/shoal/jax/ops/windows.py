# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""reduce_window and select_and_scatter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxlib.mlir import ir

from shoal.ir import Value, i64s
from shoal.jax.attributes import integers, padding
from shoal.jax.expressions import argument, region_trees
from shoal.jax.known import known_splat
from shoal.jax.reducers import KINDS, SUMS, is_identity, reduce_kind, unsigned_extremum
from shoal.jax.registry import Unsupported, imports
from shoal.jax.types import is_unsigned
from shoal.jax.window_steps import Window, combine_windows

if TYPE_CHECKING:
    from shoal.jax.importer import Importer


def _window(op: ir.Operation) -> Window:
    rank = len(op.operands[0].type.shape)
    low, high = padding(op, rank)
    return Window(
        integers(op, "window_dimensions"),
        integers(op, "window_strides", [1] * rank),
        low,
        high,
        integers(op, "base_dilations", [1] * rank),
        integers(op, "window_dilations", [1] * rank),
    )


@imports("stablehlo.reduce_window")
def reduce_window(importer: Importer, op: ir.Operation) -> list[Value]:
    block, window = op.regions[0].blocks[0], _window(op)
    kind = reduce_kind(block) if len(op.results) == 1 else None
    if kind:
        return [_by_kind(importer, op, kind, importer.operands(op), window)]
    extremum = unsigned_extremum(block) if len(op.results) == 1 else None
    if extremum:
        flipped = [importer.arith.flip_sign_bit(value) for value in importer.operands(op)]
        result = _by_kind(importer, op, extremum, flipped, window)
        return [importer.arith.flip_sign_bit(result)]
    return combine_windows(importer, op, window)


def _by_kind(
    importer: Importer, op: ir.Operation, kind: str, operands: list[Value], window: Window
) -> Value:
    value, init = operands
    write = importer.arith.summed if kind in SUMS else importer.arith.op
    dim = window.scanned_dim(value.type.shape)
    number, unsigned = known_splat(op.operands[1]), is_unsigned(op.operands[0].type)
    is_neutral = is_identity(kind, number, value.type.element, unsigned=unsigned)
    if dim is not None and is_neutral:
        attributes: dict[str, str | None] = {"kind": KINDS[kind], "dim": f"{dim} : i64"}
        if window.high[dim]:
            attributes["reverse"] = None
        return write("shoal.cumulative", [value], value.type, attributes)
    type = importer.type(op.results[0])
    attributes = {"kind": KINDS[kind], **window.attributes()}
    return write("shoal.reduce_window", [value, init], type, attributes)


@imports("stablehlo.select_and_scatter")
def select_and_scatter(importer: Importer, op: ir.Operation) -> Value:
    """The gradient of pooling: `add` where the window has its extremum."""
    select, scatter = (region.blocks[0] for region in op.regions)
    found = region_trees(select)[0]
    if found[0] != "compare" or found[-2:] != (argument(0), argument(1)):
        raise Unsupported("its selection is not a comparison of its arguments")
    if found[1] not in ("GE", "GT", "LE", "LT") or reduce_kind(scatter) != "add":
        raise Unsupported("only sums of what >=, >, <= or < selects are")
    value, source, init = importer.operands(op)
    if is_unsigned(op.operands[0].type):
        value = importer.arith.flip_sign_bit(value)
    window = _window(op)
    if min(*window.low, *window.high, 0) < 0:
        raise Unsupported("padding is negative")
    attributes: dict[str, str | None] = {
        "kind": KINDS["maximum" if found[1][0] == "G" else "minimum"],
        "window": i64s(window.sizes),
        "strides": i64s(window.strides),
        "low": i64s(window.low),
        "high": i64s(window.high),
    }
    if found[1][1] == "T":  # of equal ones, a strict comparison keeps the later
        attributes["last"] = None
    type = importer.type(op.results[0])
    operands = [value, source, init]
    return importer.arith.summed("shoal.select_and_scatter", operands, type, attributes)
