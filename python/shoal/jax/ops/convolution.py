# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""convolution."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from shoal.ir import Value, i64s, quoted
from shoal.jax.attributes import flags, integer, integers, padding
from shoal.jax.ops.contractions import product
from shoal.jax.registry import Unsupported, imports

if TYPE_CHECKING:
    from shoal.jax.importer import Importer


@imports("stablehlo.convolution")
def convolution(importer: Importer, op: ir.Operation) -> Value:
    numbers = stablehlo.ConvDimensionNumbers(op.attributes["dimension_numbers"])
    rank = len(numbers.input_spatial_dimensions)
    if not 1 <= rank <= 3:
        raise Unsupported(f"{rank} spatial dimensions, 1 to 3 are")
    low, high = padding(op, rank)
    reversal = ", ".join(str(b).lower() for b in flags(op, "window_reversal", [False] * rank))
    attributes = {
        "spec": quoted(conv_spec(numbers)),
        "strides": i64s(integers(op, "window_strides", [1] * rank)),
        "low": i64s(low),
        "high": i64s(high),
        "base_dilation": i64s(integers(op, "lhs_dilation", [1] * rank)),
        "window_dilation": i64s(integers(op, "rhs_dilation", [1] * rank)),
        "reversal": f"array<i1: {reversal}>",
        "feature_group_count": f"{integer(op, 'feature_group_count', 1)} : i64",
        "batch_group_count": f"{integer(op, 'batch_group_count', 1)} : i64",
    }
    return product(importer, op, "shoal.convolution", attributes)


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
