# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""convolution, reduce_window and select_and_scatter."""

from __future__ import annotations

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from shoal.ir import Value, i64s, quoted
from shoal.jax.attributes import flags, integer, integers, padding
from shoal.jax.expressions import argument, region_trees
from shoal.jax.importer import Importer
from shoal.jax.known import known_splat
from shoal.jax.ops.contraction import product
from shoal.jax.reducers import KINDS, SUMS, is_identity, reduce_kind, unsigned_extremum
from shoal.jax.refusals import Unsupported
from shoal.jax.registry import OfComplex, imports
from shoal.jax.types import is_unsigned, with_shape
from shoal.jax.window_steps import Window, combine_windows


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


@imports("stablehlo.reduce_window", of_complex=OfComplex.EACH | OfComplex.BOTH)
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


@imports("stablehlo.convolution", of_complex=OfComplex.PRODUCT)
def convolution(importer: Importer, op: ir.Operation) -> Value:
    numbers = stablehlo.ConvDimensionNumbers(op.attributes["dimension_numbers"])
    rank = len(numbers.input_spatial_dimensions)
    if rank > 3:
        raise Unsupported(f"{rank} spatial dimensions, 0 to 3 are")
    low, high = padding(op, rank)
    reversal = ", ".join(str(b).lower() for b in flags(op, "window_reversal", [False] * rank))
    groups = {
        name: f"{integer(op, name, 1)} : i64"
        for name in ("feature_group_count", "batch_group_count")
    }
    if rank == 0:
        return _pointwise(importer, op, conv_spec(numbers), groups)
    attributes = {
        "spec": quoted(conv_spec(numbers)),
        "strides": i64s(integers(op, "window_strides", [1] * rank)),
        "low": i64s(low),
        "high": i64s(high),
        "base_dilation": i64s(integers(op, "lhs_dilation", [1] * rank)),
        "window_dilation": i64s(integers(op, "rhs_dilation", [1] * rank)),
        "reversal": f"array<i1: {reversal}>",
        **groups,
    }
    return product(importer, op, "shoal.convolution", attributes)


def _pointwise(importer: Importer, op: ir.Operation, spec: str, groups: dict[str, str]) -> Value:
    """Without spatial dimensions: one of a single row, for the groups, is put behind."""
    result = importer.type(op.results[0])
    shaped = with_shape(result, (*result.shape, 1))
    attributes = {"spec": quoted(spec.replace(",", "0,").replace("->", "0->") + "0"), **groups}
    rows = [
        importer.arith.op("shoal.reshape", [value], with_shape(value.type, (*value.type.shape, 1)))
        for value in importer.operands(op)
    ]
    row = product(importer, op, "shoal.convolution", attributes, factors=rows, type=shaped)
    return importer.arith.op("shoal.reshape", [row], result)


def conv_spec(numbers: stablehlo.ConvDimensionNumbers) -> str:
    """`b01f,01io->b01f`."""
    kernel = _letters(
        ("i", numbers.kernel_input_feature_dimension),
        ("o", numbers.kernel_output_feature_dimension),
        numbers.kernel_spatial_dimensions,
    )
    operand = _letters(
        ("b", numbers.input_batch_dimension),
        ("f", numbers.input_feature_dimension),
        numbers.input_spatial_dimensions,
    )
    result = _letters(
        ("b", numbers.output_batch_dimension),
        ("f", numbers.output_feature_dimension),
        numbers.output_spatial_dimensions,
    )
    return f"{operand},{kernel}->{result}"


def _letters(first: tuple[str, int], second: tuple[str, int], spatial) -> str:
    places = dict([(first[1], first[0]), (second[1], second[0])])
    places.update({dim: str(i) for i, dim in enumerate(spatial)})
    return "".join(places[dim] for dim in sorted(places))
