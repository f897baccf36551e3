# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""gather and scatter, slices that begin where the program says."""

from __future__ import annotations

import math
from functools import partial

import jax
from jax import lax
from jaxlib.mlir import ir

from shoal.executable.dtypes import dtype_of
from shoal.ir import Value, i64s
from shoal.jax.arithmetic import Arithmetic
from shoal.jax.attributes import field, flag, integer, integers
from shoal.jax.expressions import Tree, argument, is_binary, region_trees
from shoal.jax.importer import Importer
from shoal.jax.index_batches import GATHER, SCATTER, indices_of
from shoal.jax.reducers import KINDS, SUMS, tree_kind, unsigned_tree_extremum
from shoal.jax.refusals import Unsupported
from shoal.jax.registry import OfComplex, imports
from shoal.jax.scatter_windows import drop_partial_windows
from shoal.jax.triangles import lowered
from shoal.jax.types import is_float, is_unsigned, with_element
from shoal.jax.whole_windows import leave_out_whole_dims


def _check_indices(op: ir.Operation, place: int) -> None:
    if str(op.operands[place].type.element_type) == "i1":
        raise Unsupported("indices are i1")


def _starts(importer: Importer, op: ir.Operation, first: int) -> list[Value]:
    """The operands from `first` on as signed indices."""
    return [
        importer.arith.to_index(importer.values[operand], is_unsigned(operand.type))
        for operand in list(op.operands)[first:]
    ]


@imports("stablehlo.dynamic_slice", of_complex=OfComplex.EACH, moves=True)
def dynamic_slice(importer: Importer, op: ir.Operation) -> Value:
    operands = [importer.operands(op)[0], *_starts(importer, op, 1)]
    if len(operands) == 1:
        return operands[0]
    sizes = {"sizes": i64s(integers(op, "slice_sizes"))}
    return importer.arith.op("shoal.dynamic_slice", operands, importer.type(op.results[0]), sizes)


@imports("stablehlo.dynamic_update_slice", of_complex=OfComplex.EACH, moves=True)
def dynamic_update_slice(importer: Importer, op: ir.Operation) -> Value:
    value, update, *_ = importer.operands(op)
    if not value.type.shape:
        return update
    operands = [value, update, *_starts(importer, op, 2)]
    return importer.arith.op("shoal.dynamic_update_slice", operands, value.type)


@imports("stablehlo.gather", of_complex=OfComplex.EACH, moves=True)
def gather(importer: Importer, op: ir.Operation) -> Value:
    _check_indices(op, 1)
    indices, sizes = indices_of(importer, op, 1, GATHER), integers(op, "slice_sizes")
    leave_out_whole_dims(importer.arith, indices, list(op.operands[0].type.shape), sizes)
    attributes = {
        "offset_dims": i64s(field(str(op.attributes["dimension_numbers"]), "offset_dims")),
        "collapsed_slice_dims": i64s(indices.single),
        "operand_batching_dims": i64s(indices.operand_batching),
        "start_indices_batching_dims": i64s(indices.indices_batching),
        "start_index_map": i64s(indices.dims),
        "index_vector_dim": f"{indices.vector_dim} : i64",
        "slice_sizes": i64s(sizes),
    }
    operands = [importer.operands(op)[0], indices.value]
    return importer.arith.op("shoal.gather", operands, importer.type(op.results[0]), attributes)


def _selected(array: jax.Array, index: jax.Array, *, dim: int, batch: int) -> jax.Array:
    """Rows of dimension `dim`, of each batch along the first `batch` dimensions."""
    shape = list(array.shape)
    behind = index.ndim - batch
    numbers = lax.GatherDimensionNumbers(
        offset_dims=(*range(batch, dim), *range(dim + behind, array.ndim - 1 + behind)),
        collapsed_slice_dims=(dim,),
        start_index_map=(dim,),
        operand_batching_dims=tuple(range(batch)),
        start_indices_batching_dims=tuple(range(batch)),
    )
    sizes = [1 if d < batch or d == dim else size for d, size in enumerate(shape)]
    places = lax.reshape(index, (*index.shape, 1))
    return lax.gather(array, places, numbers, tuple(sizes), mode="clip")


@imports("stablehlo.torch_index_select")
def torch_index_select(importer: Importer, op: ir.Operation) -> list[Value]:
    """A gather."""
    dim, batch = integer(op, "dim"), integer(op, "batch_dims")
    types = [importer.type(operand) for operand in op.operands]
    shapes = [(type.shape, dtype_of(type.element, False)) for type in types]
    rows = partial(_selected, dim=dim, batch=batch)
    return importer.inline_module(op, lowered(rows, op.context, *shapes))


@imports("stablehlo.scatter", of_complex=OfComplex.EACH | OfComplex.BOTH)
def scatter(importer: Importer, op: ir.Operation) -> list[Value]:
    """Several operands share the indices. Each is combined by itself, but where no element has several updates."""
    count, block = len(op.results), op.regions[0].blocks[0]
    values, trees = importer.operands(op), region_trees(block)
    found = [_of_operand(each, i, count) for i, each in enumerate(trees)]
    if not all(map(_is_known, found, [each.type for each in op.results])):
        if _names_once(op):
            return _combined(importer, op)
        if not any(map(partial(_reads_updates, count=count), trees)):
            return _applied(importer, op)
    return [
        _single(importer, op, i, found[i], values[i], values[count + 1 + i]) for i in range(count)
    ]


def _of_operand(found: Tree, index: int, count: int) -> Tree | None:
    """What the region makes of one operand's element, argument 0, and update, argument 1; None where another
    operand's are in it."""
    if found[0] == "argument":
        return argument(found[1] // count) if found[1] % count == index else None
    parts = [_of_operand(part, index, count) if isinstance(part, tuple) else part for part in found]
    return None if None in parts else tuple(parts)


def _names_once(op: ir.Operation) -> bool:
    """Whether no element has two updates."""
    windows = field(str(op.attributes["scatter_dimension_numbers"]), "update_window_dims")
    updates = list(op.operands)[-1].type.shape
    places = [size for dim, size in enumerate(updates) if dim not in windows]
    return math.prod(places) == 1 or flag(op, "unique_indices")


def _is_known(found: Tree | None, type: ir.Type) -> bool:
    """Whether there is a kind of scatter for it."""
    if found is None:
        return False
    is_kind = tree_kind(found, type) or unsigned_tree_extremum(found, type)
    return bool(is_kind) or found == argument(1) or is_binary(found, "subtract", argument(0), argument(1))


def _marks(importer: Importer, op: ir.Operation, kind: str | None, element: str) -> Value:
    """Of each element of an operand: with "add" how many updates it has, else whether it has one."""
    none, one = (
        importer.arith.constant(with_element(importer.operands(op)[place].type, element), number)
        for place, number in ((0, 0), (-1, 1))
    )
    return _write(importer, op, kind, none, one)


def _combined(importer: Importer, op: ir.Operation) -> list[Value]:
    """Any region's: of each element and its update, which are brought to their places."""
    count = len(op.results)
    values, updates = importer.operands(op)[:count], importer.operands(op)[count + 1 :]
    arith, named = importer.arith, _marks(importer, op, None, "i1")
    placed = [
        _write(importer, op, None, arith.constant(value.type, 0), update)
        for value, update in zip(values, updates)
    ]
    with importer.spread(values[0].type.shape):
        made = importer.inline(op.regions[0].blocks[0], [*values, *placed])
    return [arith.select(named, new, value) for new, value in zip(made, values)]


def _single(
    importer: Importer, op: ir.Operation, index: int, found: Tree | None, value: Value, updates: Value
) -> Value:
    arith, type = importer.arith, op.operands[index].type
    if found is None:
        raise Unsupported(f"operand {index} is combined with others, and elements may have several updates")
    kind, extremum = tree_kind(found, type), unsigned_tree_extremum(found, type)
    if found == argument(1):
        return _write(importer, op, None, value, updates)
    if kind:
        return _write(importer, op, kind, value, updates)
    if extremum:
        operands = [arith.flip_sign_bit(value), arith.flip_sign_bit(updates)]
        return arith.flip_sign_bit(_write(importer, op, extremum, *operands))
    if is_binary(found, "subtract", argument(0), argument(1)):
        return _write(importer, op, "add", value, _negative(arith, updates))
    raise Unsupported("its region is none of: update, sum, product, maximum, minimum, and, or")


def _negative(arith: Arithmetic, value: Value) -> Value:
    if is_float(value.type):
        return arith.op("arith.negf", [value])
    return arith.op("arith.subi", [arith.constant(value.type, 0), value])


def _reads_updates(found: Tree, count: int) -> bool:
    if found[0] == "argument":
        return found[1] >= count
    return found == ("outer",) or any(
        _reads_updates(part, count) for part in found if isinstance(part, tuple)
    )


def _applied(importer: Importer, op: ir.Operation) -> list[Value]:
    """JAX's `x.at[i].apply(f)`: f of the elements that are named, as often as they are."""
    arith, values = importer.arith, importer.operands(op)[: len(op.results)]
    left = _marks(importer, op, "add", "i32")
    types = [each.type for each in (left, *values)]
    condition, step = (importer.builder.region(types) for _ in range(2))
    with importer.builder.block(condition) as (left_now, *_):
        some = lowered(lambda left: (left > 0).any(), op.context, (left.type.shape, "int32"))
        importer.builder.op("shoal.yield", importer.inline_module(op, some, [left_now]))
    with importer.builder.block(step) as (left_now, *made):
        with importer.spread(values[0].type.shape):
            new = importer.inline(op.regions[0].blocks[0], [*made, *made])
        is_named = arith.compare_to("sgt", left_now, 0)
        less = arith.op("arith.subi", [left_now, arith.constant(left.type, 1)])
        importer.builder.op("shoal.yield", [less, *(arith.select(is_named, *each) for each in zip(new, made))])
    return importer.emit("shoal.while", [left, *values], types, None, [condition, step])[1:]


def _write(
    importer: Importer, op: ir.Operation, kind: str | None, value: Value, updates: Value
) -> Value:
    place = len(op.results)
    _check_indices(op, place)
    indices = indices_of(importer, op, place, SCATTER)
    drop_partial_windows(importer.arith, op, indices)
    numbers = str(op.attributes["scatter_dimension_numbers"])
    attributes: dict[str, str | None] = {"kind": KINDS[kind]} if kind else {}
    attributes |= {
        "update_window_dims": i64s(field(numbers, "update_window_dims")),
        "inserted_window_dims": i64s(indices.single),
        "input_batching_dims": i64s(indices.operand_batching),
        "scatter_indices_batching_dims": i64s(indices.indices_batching),
        "scatter_dims_to_operand_dims": i64s(indices.dims),
        "index_vector_dim": f"{indices.vector_dim} : i64",
    }
    write = importer.arith.summed if kind in SUMS else importer.arith.op
    return write("shoal.scatter", [value, indices.value, updates], value.type, attributes)
