# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""sort and top_k."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from jaxlib.mlir import ir

from shoal.ir import TensorType, Value
from shoal.jax.arithmetic import Arithmetic
from shoal.jax.attributes import integer, required
from shoal.jax.comparators import Key, computed_value, sort_keys
from shoal.jax.importer import Importer
from shoal.jax.refusals import Unsupported
from shoal.jax.registry import OfComplex, imports
from shoal.jax.types import is_bool, is_float, is_unsigned


@imports("stablehlo.sort", of_complex=OfComplex.BOTH)
def sort(importer: Importer, op: ir.Operation) -> list[Value]:
    """Keys go in front, as themselves or as numbers whose order is the one wanted."""
    keys = sort_keys(op.regions[0].blocks[0])
    if keys is None:
        raise Unsupported("its comparator is not an order by one or several of the operands")
    values = importer.operands(op)
    if not keys:  # all elements are equal to it
        return values
    is_descending = all(key.is_descending for key in keys)
    ordered = _numbers(importer, op, keys, is_descending)
    # Which operand is itself which key.
    plain = {values.index(number): i for i, number in enumerate(ordered) if number in values}
    carried = [i for i in range(len(values)) if i not in plain]
    operands = [*ordered, *(values[i] for i in carried)]
    attributes: dict[str, str | None] = {
        "dim": f"{_dimension(op)} : i64",
        "num_keys": f"{len(keys)} : i64",
    }
    if is_descending:
        attributes["descending"] = None
    types = [value.type for value in operands]
    results = importer.emit("shoal.sort", operands, types, attributes)
    places = {**plain, **{i: len(ordered) + place for place, i in enumerate(carried)}}
    return [results[places[i]] for i in range(len(values))]


def _numbers(
    importer: Importer, op: ir.Operation, keys: list[Key], is_descending: bool
) -> list[Value]:
    """For each key numbers that are in its order, or in the opposite where all are descending."""
    block, values = op.regions[0].blocks[0], importer.operands(op)
    if any(key.computed for key in keys):  # of whole tensors, as the comparator does
        with importer.spread(values[0].type.shape):
            importer.inline(block, [value for value in values for _ in range(2)])
    numbers = []
    for key in keys:
        source = computed_value(block, key) if key.computed else op.operands[key.operand]
        value = importer.values[source]
        numbers.append(_ordered(importer.arith, source.type, key, value, is_descending))
    return numbers


def _dimension(op: ir.Operation) -> int:
    dim = integer(op, "dimension", -1)
    return dim if dim >= 0 else dim + len(op.operands[0].type.shape)


def _ordered(
    arith: Arithmetic, type: ir.Type, key: Key, value: Value, is_descending: bool
) -> Value:
    """Numbers in the key's order, or in the opposite where all keys are descending; the value
    itself where its own order is that."""
    is_turned = key.is_descending and not is_descending
    if is_float(value.type):
        # Unless the comparator says it NaNs are the largest, as they are where nothing is done.
        is_nan_least = key.has_nan_first not in (None, key.is_descending)
        if not (key.is_total or is_turned or is_nan_least):
            return value
        if not key.is_total:
            value = _normal_form(arith, value, is_nan_least=is_nan_least)
        value = arith.total_order(value)
    elif is_unsigned(type) and not is_bool(value.type):
        value = arith.flip_sign_bit(value)
    return arith.flip(value) if is_turned else value


def _normal_form(arith: Arithmetic, value: Value, *, is_nan_least: bool) -> Value:
    """One zero and one NaN, the largest number or the smallest in the total order."""
    number = math.copysign(math.nan, -1 if is_nan_least else 1)
    zero, nan = arith.constant(value.type, 0), arith.constant(value.type, number)
    value = arith.select(arith.compare("oeq", value, zero), zero, value)
    return arith.select(arith.isnan(value), nan, value)


@imports("chlo.top_k")
def top_k(importer: Importer, op: ir.Operation) -> list[Value]:
    """Of the last dimension."""
    return largest_along(importer, op, integer(op, "k"))


def largest_along(
    importer: Importer, op: ir.Operation, k: int, *, is_smallest: bool = False
) -> list[Value]:
    """The k largest, or smallest floats, of operand 0's last dimension, and their places."""
    arith, value = importer.arith, importer.operands(op)[0]
    to, back = _as_signed(arith, value, is_unsigned(op.operands[0].type))
    if is_smallest:
        to = back = partial(_negated, arith)
    number = to(value)
    shape = importer.type(op.results[0]).shape
    types = [TensorType(shape, number.type.element), TensorType(shape, "i32")]
    found, places = importer.emit("shoal.top_k", [number], types, {"k": f"{k} : i64"})
    return [back(found), arith.convert(places, importer.type(op.results[1]).element)]


def _as_signed(arith: Arithmetic, value: Value, unsigned: bool) -> tuple[Callable, Callable]:
    """To numbers that top_k orders as these elements are, and back."""
    if is_bool(value.type):
        return lambda x: arith.convert(x, "i8"), lambda x: arith.convert(x, "i1")
    if unsigned:
        return arith.flip_sign_bit, arith.flip_sign_bit
    return lambda x: x, lambda x: x


def _negated(arith: Arithmetic, value: Value) -> Value:
    return arith.op("arith.negf", [value])


@imports("stablehlo.custom_call @mhlo.topk")
def older_top_k(importer: Importer, op: ir.Operation) -> list[Value]:
    """What chlo.top_k was before."""
    attributes = required(op.attributes, "mhlo.attributes", ir.DictAttr)
    if "largest" in attributes and not required(attributes, "largest", ir.BoolAttr).value:
        raise Unsupported("the smallest elements")
    return largest_along(importer, op, required(attributes, "k", ir.IntegerAttr).value)


@imports("stablehlo.custom_call @TopK")
def gspmd_top_k(importer: Importer, op: ir.Operation) -> list[Value]:
    """As many of the largest as the result has, by an order that the module holds."""
    called = ir.ArrayAttr(required(op.attributes, "called_computations"))
    names = [ir.FlatSymbolRefAttr(name).value for name in called]
    order = importer.functions.get(names[0]) if len(names) == 1 else None
    keys = sort_keys(order.regions[0].blocks[0]) if order is not None else None
    if not keys or keys[0].operand != 0 or keys[0].computed or len(keys) > 1:
        raise Unsupported(f"the order {called}")
    is_smallest = not keys[0].is_descending
    if is_smallest and not is_float(importer.operands(op)[0].type):
        raise Unsupported("the smallest integers")
    k = importer.type(op.results[0]).shape[-1]
    return largest_along(importer, op, k, is_smallest=is_smallest)


@imports("stablehlo.custom_call @ApproxTopK")
def approximate_top_k(importer: Importer, op: ir.Operation) -> list[Value]:
    """The exact ones, which every recall target allows."""
    config = required(op.attributes, "mhlo.backend_config", ir.DictAttr)
    dim, k = (required(config, name, ir.IntegerAttr).value for name in ("reduction_dim", "top_k"))
    if not required(config, "aggregate_to_topk", ir.BoolAttr).value:
        raise Unsupported("its results are not aggregated")
    if dim != len(op.operands[0].type.shape) - 1:
        raise Unsupported(f"along dimension {dim}, the last one is")
    called = str(required(op.attributes, "called_computations"))
    if "top_k_gt_" in called:
        return largest_along(importer, op, k)
    if "top_k_lt_" in called and is_float(importer.operands(op)[0].type):
        return largest_along(importer, op, k, is_smallest=True)
    raise Unsupported(f"the order {called}")
