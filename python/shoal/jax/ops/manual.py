# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Regions for one device: Shardy's manual_computation, and GSPMD's calls between shapes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from jaxlib.mlir import ir

from shoal.ir import TensorType, Value
from shoal.jax import gspmd, shardy
from shoal.jax.annotations import FULL_TO_SHARD, GSPMD, SHARD_TO_FULL, unspecified_dims
from shoal.jax.attributes import string
from shoal.jax.importer import Importer
from shoal.jax.manual import Frame
from shoal.jax.open_regions import OpenRegion
from shoal.jax.refusals import Unsupported
from shoal.jax.registry import OfComplex, imports
from shoal.mesh import Axis, Mesh, Sharding

# What stands in a region that JAX makes of axis_index.
_PLACE = (
    "sdy.return", "stablehlo.constant", "stablehlo.convert", "stablehlo.divide",
    "stablehlo.partition_id", "stablehlo.remainder",
)  # fmt: skip


def axes_attribute(axes: Sequence[Axis | str]) -> str:
    """`#shoal<axes{"x", "y":(1)2}>`."""
    named = (Axis(axis) if isinstance(axis, str) else axis for axis in axes)
    return f"#shoal<axes{{{', '.join(map(str, named))}}}>"


@imports("sdy.manual_computation", of_complex=OfComplex.BOTH, moves=True)
def manual_computation(importer: Importer, op: ir.Operation) -> list[Value]:
    names = shardy.manual_axes_of(op.attributes["manual_axes"])
    inputs = shardy.per_value(op.attributes["in_shardings"])
    outputs = shardy.per_value(op.attributes["out_shardings"])
    block = op.regions[0].blocks[0]
    meshes = {m.name: m for s in (*inputs, *outputs) if (m := importer.shardings.mesh_over(s))}
    operands = importer.operands(op)
    around = _around(importer)
    mesh = around.mesh if around else next(iter(meshes.values()), None)
    if not names or not mesh or around and _finds_place(op):
        return importer.inline_at(op, block, operands)
    own = _in_order(mesh, names)

    def of_sdy(shardings, types: Sequence[TensorType]) -> list[Sharding]:
        return [
            _over(importer.shardings.of_sdy(sharding, len(type.shape)), mesh)
            for sharding, type in zip(shardings, types)
        ]

    results = importer.result_types(op)
    return _region(
        importer,
        mesh,
        own,
        operands,
        of_sdy(inputs, [operand.type for operand in operands]),
        of_sdy(outputs, results),
        results,
        [importer.type(argument) for argument in block.arguments],
        lambda arguments: importer.inline_at(op, block, arguments),
    )


def _in_order(mesh: Mesh, names: Collection[str]) -> tuple[str, ...]:
    return tuple(axis for axis in mesh.axes if axis in names)


def _around(importer: Importer) -> Frame | None:
    """The region that is being written, if any."""
    return importer.shardings.frames[-1] if importer.shardings.frames else None


def _finds_place(op: ir.Operation) -> bool:
    """Whether a region does nothing but look where the device is.

    JAX writes axis_index so, in regions that leave some axes to the compiler:
    in one that is manual along all the others, too, though none of them counts.
    """
    block = op.regions[0].blocks[0]
    return not op.operands and all(inner.operation.name in _PLACE for inner in block.operations)


def _over(sharding: Sharding, mesh: Mesh) -> Sharding:
    if sharding.mesh == mesh.name:
        return sharding
    if sharding.partial or any(dim.axes for dim in sharding.dims):
        raise Unsupported(f"shardings over two meshes, @{mesh.name} and @{sharding.mesh}")
    return Sharding(mesh.name, sharding.dims)


def _region(
    importer: Importer,
    mesh: Mesh,
    own: tuple[str, ...],
    operands: Sequence[Value],
    inputs: Sequence[Sharding],
    outputs: Sequence[Sharding],
    results: Sequence[TensorType],
    arguments: Sequence[TensorType],
    write: Callable[[Sequence[Value]], list[Value]],
) -> list[Value]:
    """A shoal.manual_computation along its `own` axes, in another along those of both.

    `write` makes of the region's arguments what it yields.
    """
    around = _around(importer)
    if around and around.mesh.name != mesh.name:
        raise Unsupported(f"over mesh @{mesh.name} in a region over @{around.mesh.name}")
    frame = Frame(mesh, _in_order(mesh, {*own, *(around.axes if around else ())}))
    builder = importer.builder
    region = builder.region(arguments)
    importer.shardings.frames.append(frame)
    try:
        with builder.block(region) as values:
            builder.op("shoal.yield", write(values))
    finally:
        importer.shardings.frames.pop()
    attributes = {
        "mesh": f"@{mesh.name}",
        "manual_axes": axes_attribute(own),
        "in_shardings": _list(inputs),
        "out_shardings": _list(outputs),
    }
    return importer.emit("shoal.manual_computation", operands, results, attributes, [region])


def _list(shardings: Sequence[Sharding]) -> str:
    return f"[{', '.join(sharding.attribute() for sharding in shardings)}]"


# GSPMD: full_to_shard -> call of the body -> shard_to_full.


@dataclass(frozen=True)
class Shard:
    """What full_to_shard makes of a value, until the call that reads it.

    text: the manual sharding, sharding: that of the whole value.
    """

    whole: Value
    text: str
    sharding: Sharding


@imports(f"stablehlo.custom_call @{FULL_TO_SHARD}", of_complex=OfComplex.EACH, moves=True)
def full_to_shard(importer: Importer, op: ir.Operation) -> Shard:
    value = importer.operands(op)[0]
    return Shard(value, string(op, GSPMD), _sharding_of_operand(importer, op))


def _sharding_of_operand(importer: Importer, op: ir.Operation) -> Sharding:
    operand = op.operands[0]
    source = operand.owner
    if not isinstance(source, ir.Block) and string(source, "call_target_name") == "Sharding":
        return _sharding_of(importer, source, operand)
    raise Unsupported("its operand has no sharding of its own")


def _sharding_of(importer: Importer, op: ir.Operation, value: ir.Value) -> Sharding:
    """What an op's mhlo.sharding says of a value of this rank."""
    said = gspmd.parse(string(op, GSPMD))[0]
    rank = ir.RankedTensorType(value.type).rank
    sharding = importer.shardings.of_gspmd(said, rank, unspecified_dims(op.attributes))
    if sharding is None:
        raise Unsupported(f"the whole value's sharding is {string(op, GSPMD)}")
    return sharding


@imports(f"stablehlo.custom_call @{SHARD_TO_FULL}", of_complex=OfComplex.EACH, moves=True)
def shard_to_full(importer: Importer, op: ir.Operation) -> Value:
    """The region's result, which is whole already, or a value within a region."""
    region = importer.open_regions.get(op.results[0])
    if region:
        return open_region(importer, region)
    if op.operands[0] not in importer.values:
        raise Unsupported("its region is refused")
    value = importer.operands(op)[0]
    if not isinstance(value, Value):
        raise Unsupported("its operand is not the result of a call")
    return value


def manual_call(
    importer: Importer, op: ir.Operation, body: ir.Block, exits: Sequence[ir.Operation]
) -> list[Value]:
    """The call of a body that is written for one device, as a manual region."""
    shards = importer.operands(op)
    if not all(isinstance(shard, Shard) for shard in shards):
        raise Unsupported("a body for one device that reads whole values")
    arguments = [importer.type(argument) for argument in body.arguments]
    return _between(
        importer, shards, exits, arguments, lambda values: importer.inline_at(op, body, values)
    )


def open_region(importer: Importer, region: OpenRegion) -> Value:
    """A region whose body stands in the block, written at its first exit; gives that one's."""
    entries, exits = region.entries, region.exits
    if any(entry.operands[0] not in importer.values for entry in entries):
        raise Unsupported("a value enters its region that is made behind what leaves it")
    shards = [full_to_shard(importer, entry) for entry in entries]

    def write(values: Sequence[Value]) -> list[Value]:
        importer.values.update(zip((entry.results[0] for entry in entries), values, strict=True))
        importer.import_ops(region.body)
        return [importer.values[exit.operands[0]] for exit in exits]

    arguments = [importer.type(entry.results[0]) for entry in entries]
    results = _between(importer, shards, exits, arguments, write)
    for exit, result in zip(exits[1:], results[1:]):
        importer.values[exit.results[0]] = result
        importer.written_exits.add(exit.results[0])
    return results[0]


def _between(
    importer: Importer,
    shards: Sequence[Shard],
    exits: Sequence[ir.Operation],
    arguments: Sequence[TensorType],
    write: Callable[[Sequence[Value]], list[Value]],
) -> list[Value]:
    """The manual region from full_to_shard to shard_to_full."""
    outputs = [_sharding_of(importer, exit, exit.results[0]) for exit in exits]
    # Without operands nothing says that some axes are not manual.
    said = gspmd.parse(shards[0].text)[0] if shards else gspmd.Manual()
    mesh, axes = importer.shardings.manual_axes(said)
    around = _around(importer)
    own = [axis for axis in axes if not around or axis not in around.axes]
    return _region(
        importer,
        mesh,
        _in_order(mesh, own),
        [shard.whole for shard in shards],
        [shard.sharding for shard in shards],
        outputs,
        [importer.type(exit.results[0]) for exit in exits],
        arguments,
        write,
    )
