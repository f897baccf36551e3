# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Windows of a scatter that lie partly outside of the operand.

StableHLO's specification drops the elements outside and combines the others, and
so does `shoal.scatter`. XLA, and with it JAX, drops such a window whole. So its
place becomes one that has no element inside.
"""

from __future__ import annotations

from jaxlib.mlir import ir

from shoal.ir import TensorType, Value, i64s
from shoal.jax.arithmetic import Arithmetic
from shoal.jax.attributes import field
from shoal.jax.index_batches import Indices
from shoal.jax.known import known_splat
from shoal.jax.reducers import KINDS
from shoal.jax.types import bits, with_element, with_shape
from shoal.jax.whole_windows import leave_out_whole_dims


def drop_partial_windows(arith: Arithmetic, op: ir.Operation, places: Indices) -> None:
    """Puts partial windows of a `stablehlo.scatter` past the end, whole ones of a dimension are
    then left out."""
    operand, sizes = list(op.operands[0].type.shape), _window_sizes(op)
    if all(sizes[dim] == 1 for dim in places.dims):
        return  # an element: inside or outside
    places.value = _past_the_end(arith, op, places, sizes)
    leave_out_whole_dims(arith, places, operand, sizes)


def _past_the_end(
    arith: Arithmetic, op: ir.Operation, places: Indices, sizes: list[int]
) -> Value:
    """The indices, all components of those of partial windows being the operand's sizes."""
    operand = list(op.operands[0].type.shape)
    indices, dims, vector_dim = places.value, places.dims, places.vector_dim
    # How many places there are for a whole window.
    room = [max(operand[dim] - sizes[dim] + 1, 0) for dim in dims]
    known = known_splat(op.operands[len(op.results)])
    if known is not None and all(0 <= known < count for count in room):
        return indices
    indices = _widened(arith, indices, max(operand[dim] for dim in dims))
    inside = arith.compare("ult", indices, _along(arith, indices.type, room, vector_dim))
    if len(dims) > 1:
        inside = _of_all_components(arith, inside, vector_dim)
    beyond = _along(arith, indices.type, [operand[dim] for dim in dims], vector_dim)
    return arith.select(inside, indices, beyond)


def _window_sizes(op: ir.Operation) -> list[int]:
    """How many rows a window has in each dimension of the operand."""
    numbers = str(op.attributes["scatter_dimension_numbers"])
    updates = op.operands[len(op.results) + 1].type.shape
    windows = iter([updates[dim] for dim in field(numbers, "update_window_dims")])
    single = field(numbers, "inserted_window_dims") + field(numbers, "input_batching_dims")
    rank = len(op.operands[0].type.shape)
    return [1 if dim in single else next(windows) for dim in range(rank)]


def _widened(arith: Arithmetic, indices: Value, number: int) -> Value:
    """The indices in a type that has the number, too."""
    for element in ("i32", "i64"):
        wide = max(bits(element), bits(indices.type.element))
        if number < 1 << (wide - 1):
            return arith.convert(indices, f"i{wide}")
    return indices


def _along(arith: Arithmetic, type: TensorType, numbers: list[int], dim: int) -> Value:
    """A tensor of a type with the numbers along a dimension."""
    if len(set(numbers)) == 1:
        return arith.constant(type, numbers[0])
    line = arith.spelled_constant(with_shape(type, (len(numbers),)), str(numbers))
    return arith.op("shoal.broadcast_in_dim", [line], type, {"dims": i64s([dim])})


def _of_all_components(arith: Arithmetic, inside: Value, dim: int) -> Value:
    """Where all components of an index are inside, for each of them."""
    shape = inside.type.shape
    kept = [i for i in range(len(shape)) if i != dim]
    flags = with_element(with_shape(inside.type, tuple(shape[i] for i in kept)), "i1")
    attributes = {"kind": KINDS["and"], "dims": i64s([dim])}
    whole = arith.op("shoal.reduce", [inside], flags, attributes)
    return arith.op("shoal.broadcast_in_dim", [whole], inside.type, {"dims": i64s(kept)})
