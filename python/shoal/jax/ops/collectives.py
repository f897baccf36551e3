# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Collectives inside regions that are written for one device."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence

import numpy as np
from jaxlib.mlir import ir

from shoal.ir import TensorType, Value, i64s
from shoal.jax.attributes import find, integer
from shoal.digits import Digit, stride_of
from shoal.jax.importer import Importer
from shoal.jax.manual import Frame, shift_of
from shoal.jax.ops.manual import axes_attribute
from shoal.jax.reducers import AS_LOGIC, KINDS, SUMS
from shoal.jax.refusals import Unsupported
from shoal.jax.registry import OfComplex, imports, refuses
from shoal.jax.types import is_bool, is_float, is_unsigned
from shoal.mesh import Axis


def frame_of(importer: Importer) -> Frame:
    if not importer.shardings.frames:
        raise Unsupported("outside of a region that is written for one device")
    return importer.shardings.frames[-1]


def listed_groups(importer: Importer, op: ir.Operation) -> np.ndarray:
    """The op's replica_groups as devices: lists of them or, from JAX 0.11 on, axes of a mesh."""
    attribute = op.attributes["replica_groups"]
    if isinstance(attribute, ir.DenseElementsAttr):
        return np.asarray(attribute)
    mesh, text = frame_of(importer).mesh, str(attribute)
    names = re.findall(r'axis_ref<name = "([^"]*)"', text)
    if not text.startswith("#stablehlo.replica_group_mesh_axes") or "sub_axis" in text or not {*names} <= {*mesh.axes}:
        raise Unsupported(f"replica_groups {text} are no axes of @{mesh.name} {dict(mesh.axes)}")
    devices = np.asarray(mesh.device_ids or range(mesh.size)).reshape(tuple(mesh.axes.values()))
    along = [list(mesh.axes).index(name) for name in names]
    moved = np.moveaxis(devices, along, range(devices.ndim - len(along), devices.ndim))
    return moved.reshape(-1, math.prod(mesh.axes[name] for name in names))


def groups_of(importer: Importer, op: ir.Operation, *, ordered: bool) -> tuple[Axis, ...]:
    """The axes along which the op's replica_groups differ."""
    groups = listed_groups(importer, op)
    are_partitions = find(op, "channel_handle") is not None
    return axes_of(importer, groups, are_partitions, ordered=ordered)


def axes_of(
    importer: Importer, groups: np.ndarray, are_partitions: bool, *, ordered: bool
) -> tuple[Axis, ...]:
    """The axes along which the devices of each group differ."""
    frame = frame_of(importer)
    if not are_partitions and groups.size > 1:
        raise Unsupported("groups of replicas; a channel_handle says that they are partitions")
    axes = frame.axes_of_groups(groups, ordered=ordered)
    if axes is None:
        raise Unsupported(
            f"replica_groups {groups.tolist()} are no axes of @{frame.mesh.name}"
            f" {dict(frame.mesh.axes)} along which the region is manual: {list(frame.axes)}"
        )
    return axes


def per_dim(axes: Sequence[Axis], dim: int, rank: int) -> str:
    """A list of axes for each dimension, all on one."""
    lists = [axes_attribute(axes if i == dim else ()) for i in range(rank)]
    return f"[{', '.join(lists)}]"


@imports("stablehlo.partition_id")
def partition_id(importer: Importer, op: ir.Operation) -> Value:
    """The device's number; from axes that are not manual only its other digits."""
    frame = frame_of(importer)
    if frame.mesh.device_ids is not None:
        raise Unsupported("the mesh has an order of devices of its own")
    if not frame.is_whole:
        _check_digits(frame, op.results[0])
    type = TensorType((), "i32")
    total = None
    for name in frame.axes:
        index = axis_index(importer, frame, [Axis(name)])
        stride = importer.arith.constant(type, stride_of(Axis(name), frame.mesh))
        part = importer.arith.op("arith.muli", [index, stride])
        total = part if total is None else importer.arith.op("arith.addi", [total, part])
    return total if total is not None else importer.arith.constant(type, 0)


@imports("stablehlo.replica_id")
def replica_id(importer: Importer, op: ir.Operation) -> Value:
    """There is one replica."""
    return importer.arith.constant(TensorType((), "i32"), 0)


def axis_index(importer: Importer, frame: Frame, axes: Sequence[Axis]) -> Value:
    attributes = {"mesh": f"@{frame.mesh.name}", "axes": axes_attribute(axes)}
    return importer.emit("spmd.axis_index", [], TensorType((), "i32"), attributes)[0]


def _check_digits(frame: Frame, value: ir.Value) -> None:
    """All that is asked of a number is `number / stride % size`, along manual axes."""
    for use in value.uses:
        user = use.owner.operation
        stride = 1
        if user.name == "stablehlo.divide":
            stride = _constant(user.operands[1])
            users = [u.owner.operation for u in user.results[0].uses]
        else:
            users = [user]
        for reader in users:
            size = _constant(reader.operands[1]) if reader.name == "stablehlo.remainder" else None
            digit = Digit(stride, size) if stride and size else None
            if size != 1 and (digit is None or frame.axes_of_digit(digit) is None):
                raise Unsupported(f"in a region that is manual along {list(frame.axes)} only")


def _constant(value: ir.Value) -> int | None:
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "stablehlo.constant":
        return None
    return int(np.asarray(ir.DenseElementsAttr(owner.attributes["value"])).ravel()[0])


def _reduction(op: ir.Operation) -> str:
    """The name of the one op of a collective's combiner: `add`."""
    names = [
        inner.operation.name
        for inner in op.regions[0].blocks[0].operations
        if inner.operation.name not in ("sdy.sharding_constraint", "stablehlo.custom_call")
    ]
    kind = names[0].removeprefix("stablehlo.")
    if len(names) != 2 or kind not in KINDS:
        raise Unsupported(f"a combiner of {', '.join(names[:-1])}")
    return kind


def _each_operand(
    importer: Importer, op: ir.Operation, emit, *, ordered: bool = True
) -> list[Value]:
    """emit(value, result type, axes, the operand in JAX) of every operand; for groups of one
    device the operands as they are.

    ordered: whether the place in a group matters.
    """
    axes = groups_of(importer, op, ordered=ordered)
    values = importer.operands(op)
    if not axes:
        return values
    types = importer.result_types(op)
    return [emit(value, type, axes, of) for value, type, of in zip(values, types, op.operands)]


def _reduced(
    importer: Importer, op: ir.Operation, name: str, value, type, axes: str, operand
) -> Value:
    """A reducing collective on one operand; unsigned integers in the order of signed ones."""
    kind = _reduction(op)
    if value.type.element == "i1":
        kind = AS_LOGIC.get(kind, kind)
    is_unsigned_order = kind in ("maximum", "minimum") and is_unsigned(operand.type)
    value = importer.arith.flip_sign_bit(value) if is_unsigned_order else value
    mesh = f"@{frame_of(importer).mesh.name}"
    attributes = {"kind": KINDS[kind], "mesh": mesh, "axes": axes}
    write = importer.arith.summed if kind in SUMS else importer.arith.op
    result = write(name, [value], type, attributes)
    return importer.arith.flip_sign_bit(result) if is_unsigned_order else result


@imports("stablehlo.all_reduce", of_complex=OfComplex.EACH)
def all_reduce(importer: Importer, op: ir.Operation) -> list[Value]:
    def emit(value, type, axes, operand):
        spelled = axes_attribute(axes)
        return _reduced(importer, op, "spmd.all_reduce", value, type, spelled, operand)

    return _each_operand(importer, op, emit, ordered=False)


@imports("stablehlo.reduce_scatter", of_complex=OfComplex.EACH)
def reduce_scatter(importer: Importer, op: ir.Operation) -> list[Value]:
    dim = integer(op, "scatter_dimension")

    def emit(value, type, axes, operand):
        spelled = per_dim(axes, dim, len(type.shape))
        return _reduced(importer, op, "spmd.reduce_scatter", value, type, spelled, operand)

    return _each_operand(importer, op, emit)


@imports("stablehlo.collective_broadcast", of_complex=OfComplex.EACH, moves=True)
def collective_broadcast(importer: Importer, op: ir.Operation) -> list[Value]:
    """What the first device of each group has: the others' bits are 0, and all are joined."""
    groups = listed_groups(importer, op)

    def emit(value, type, axes, operand):
        arith, frame = importer.arith, frame_of(importer)
        first = {frame.index(axes, int(group[0])) for group in groups}
        if len(first) > 1:
            raise Unsupported(
                f"replica_groups {groups.tolist()} begin at different places along {list(axes)}"
            )
        index = axis_index(importer, frame, axes)
        is_first = arith.compare_to("eq", index, first.pop())
        data = value if is_bool(type) or not is_float(type) else arith.as_bits(value)
        own = arith.select(is_first, data, arith.constant(data.type, 0))
        attributes = {
            "kind": KINDS["or"], "mesh": f"@{frame.mesh.name}", "axes": axes_attribute(axes)
        }
        joined = arith.op("spmd.all_reduce", [own], data.type, attributes)
        return arith.bitcast(joined, type.element)

    return _each_operand(importer, op, emit, ordered=False)


@imports("stablehlo.cross-replica-sum", of_complex=OfComplex.EACH)
def cross_replica_sum(importer: Importer, op: ir.Operation) -> list[Value]:
    """There is one replica."""
    if listed_groups(importer, op).size > 1:
        raise Unsupported("groups of replicas")
    return importer.operands(op)


@imports("stablehlo.all_gather", of_complex=OfComplex.EACH, moves=True)
def all_gather(importer: Importer, op: ir.Operation) -> list[Value]:
    dim, mesh = integer(op, "all_gather_dim"), f"@{frame_of(importer).mesh.name}"

    def emit(value, type, axes, operand):
        attributes = {"mesh": mesh, "axes": per_dim(axes, dim, len(type.shape))}
        return importer.emit("spmd.all_gather", [value], type, attributes)[0]

    return _each_operand(importer, op, emit)


@imports("stablehlo.all_to_all", of_complex=OfComplex.EACH, moves=True)
def all_to_all(importer: Importer, op: ir.Operation) -> list[Value]:
    split, concat = integer(op, "split_dimension"), integer(op, "concat_dimension")

    def emit(value, type, axes, operand):
        return _exchanged(importer, value, type, axes, split, concat)

    return _each_operand(importer, op, emit)


def _exchanged(importer: Importer, value, type, axes, split: int, concat: int) -> Value:
    frame = frame_of(importer)

    def move(value, type, source, target):
        moves = f"[#spmd<move {{{', '.join(map(str, axes))}}} : {source} -> {target}>]"
        attributes = {"mesh": f"@{frame.mesh.name}", "moves": moves}
        return importer.emit("spmd.all_to_all", [value], type, attributes)[0]

    if split != concat:
        return move(value, type, concat, split)
    # Blocks change places along one dimension: a dimension of blocks is split
    # and another one comes together.
    shape, count = value.type.shape, frame.size(axes)
    head, rest = shape[:split], (shape[split] // count, *shape[split + 1 :])
    before = TensorType((*head, 1, count, *rest), value.type.element)
    behind = TensorType((*head, count, 1, *rest), value.type.element)
    blocks = importer.emit("shoal.reshape", [value], before)[0]
    blocks = move(blocks, behind, split, split + 1)
    return importer.emit("shoal.reshape", [blocks], type)[0]


@imports("stablehlo.custom_call @ragged_all_to_all", moves=True)
def ragged_all_to_all(importer: Importer, op: ir.Operation) -> Value:
    """Slices for a group of one device, too, which is one along no axes."""
    config = op.attributes["backend_config"]
    if not isinstance(config, ir.DictAttr) or "replica_groups" not in config:
        raise Unsupported("without replica_groups in its backend_config")
    groups = np.asarray(ir.DenseElementsAttr(config["replica_groups"]))
    axes = axes_of(importer, groups, "channel_id" in config, ordered=True)
    rows, output, *lists = importer.operands(op)
    width = "i64" if any(v.type.element == "i64" for v in lists) else "i32"
    lists = [
        importer.arith.convert(value, width, unsigned=is_unsigned(of.type))
        for value, of in zip(lists, list(op.operands)[2:])
    ]
    mesh = f"@{frame_of(importer).mesh.name}"
    attributes = {"mesh": mesh, "axes": axes_attribute(axes)}
    operands = [rows, output, *lists]
    return importer.emit("spmd.ragged_all_to_all", operands, output.type, attributes)[0]


@imports("stablehlo.collective_permute", of_complex=OfComplex.EACH, moves=True)
def collective_permute(importer: Importer, op: ir.Operation) -> Value:
    """A shift along axes where all devices send as far, else pairs of indices along them."""
    frame = frame_of(importer)
    listed = np.asarray(ir.DenseElementsAttr(op.attributes["source_target_pairs"]))
    pairs = {int(source): int(target) for source, target in listed.reshape(-1, 2)}
    value = importer.operands(op)[0]
    found = frame.permutation(pairs)
    if found is None:
        raise Unsupported(
            f"source_target_pairs {listed.tolist()} are not the same for all devices along"
            f" axes of @{frame.mesh.name} {dict(frame.mesh.axes)}"
        )
    axes, moves = found
    shift = shift_of(frame, axes, moves)
    if shift is not None:
        sent = {"shift": f"{shift.distance} : i64"}
    else:
        sent = {"pairs": i64s(list(itertools.chain(*moves.items())))}
    names, mesh = axes_attribute(shift.axes if shift else axes), f"@{frame.mesh.name}"
    attributes = {"mesh": mesh, "source_axes": names, "target_mesh": mesh, "target_axes": names}
    return importer.emit("spmd.collective_permute", [value], value.type, attributes | sent)[0]


refuses(
    "stablehlo.async_start",
    "stablehlo.async_done",
    reason="what starts apart from where it ends; the compiler overlaps collectives by itself",
)
