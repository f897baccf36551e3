# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The shardings of a StableHLO module, GSPMD's and Shardy's, as Shoal's.

    shardings = ShardingImporter(module)
    shardings.declare_meshes(builder)
    shardings.argument_attributes(function, 0)    # {"shoal.sharding": ...}

What a program says of one device alone (`maximal`) is replicated: the numbers
are the same, and the other devices have them, too.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy

from shoal.digits import Digit, aligned, axes_of, common_sizes, digits_of, order_by_axes
from shoal.ir import Builder
from shoal.jax import gspmd, shardy
from shoal.jax.annotations import (
    ANNOTATIONS,
    GSPMD,
    SHARDY,
    sdy_shardings,
    tilings_of,
    unspecified_dims,
    walk,
)
from shoal.jax.attributes import dictionaries, required, text_in
from shoal.jax.functions import COMPLEX
from shoal.jax.known import defining_op
from shoal.jax.manual import Frame
from shoal.jax.refusals import Unsupported, refused_at
from shoal.jax.types import tensors_in
from shoal.mesh import Axis, Dim, Mesh, Sharding
from shoal.mesh_sharding import MeshSharding


class ShardingImporter:
    """Meshes and shardings of one module. `meshes` are Shoal's, by their symbols.

    mesh: that of a program that names none.
    """

    def __init__(self, module: ir.Module, mesh: Mesh | None = None):
        self.meshes: dict[str, Mesh] = {}
        # The manual regions that are being imported, the innermost last.
        self.frames: list[Frame] = []
        # Symbols of meshes without axes: what lies on them is everywhere.
        self._without_axes: set[str] = set()
        with refused_at(module.operation):
            self._check_replicas(module)
        tilings: list[tuple[ir.Operation, gspmd.Tiling]] = []
        for op in walk(module.operation):
            with refused_at(op):
                self._collect_meshes(op)
                tilings.extend((op, tiling) for tiling in tilings_of(op))
        # The order of a mesh may be any where nothing reads a device's number.
        is_free = not self.meshes and not self._reads_numbers(module)
        with refused_at(module.operation):
            self._add_gspmd_mesh([tiling for _, tiling in tilings], module)
        if mesh and not self.meshes:
            self._add_mesh(Mesh(mesh.axes, device_ids=mesh.device_ids))
        # Those whose order of devices no axes tile need meshes of their own: first
        # of those that say most of it, as parts of their axes tile others, too.
        for op, tiling in sorted(tilings, key=lambda found: found[1].alike):
            with refused_at(op):
                self._axes_of_tiling(tiling)
        if is_free and len(self.meshes) > 1:
            self._keep_fewest([tiling for _, tiling in tilings])

    @property
    def first(self) -> Mesh | None:
        """The mesh of what names none."""
        return next(iter(self.meshes.values()), None)

    def declare_meshes(self, builder: Builder) -> None:
        for name, mesh in self.meshes.items():
            builder.mesh(name, mesh.attribute())

    def argument_attributes(
        self, function: ir.Operation, index: int, default: MeshSharding | None = None
    ) -> dict[str, str]:
        """`shoal.sharding` of an argument, or nothing. default: where it lies if none is said."""
        return self._boundary_attributes(function, "arg_attrs", index, default)

    def result_attributes(
        self, function: ir.Operation, index: int, default: MeshSharding | None = None
    ) -> dict[str, str]:
        """`shoal.sharding` of a result, or nothing. default: where it lies if none is said."""
        return self._boundary_attributes(function, "res_attrs", index, default)

    def constraints(self, op: ir.Operation) -> list[str | None]:
        """What an op's attributes say of each tensor in its results: hard annotations.

        Ops that are annotations themselves have importers of their own.
        """
        is_annotation = op.name in ANNOTATIONS
        if is_annotation or not (SHARDY in op.attributes or GSPMD in op.attributes):
            return [None] * sum(len(tensors_in(result.type)) for result in op.results)
        ranks = [type.rank for result in op.results for type in tensors_in(result.type)]
        found = self._of_attributes(op.attributes, ranks)
        return [None if s is None or self.is_open(s) else s.attribute() for s in found]

    def of_sdy(self, attribute: ir.Attribute, rank: int) -> Sharding | None:
        """An `#sdy.sharding` of a value. On a mesh without axes nothing is split, but dimensions
        may be open."""
        sharding = sdy.TensorShardingAttr(attribute)
        mesh = self._mesh_named_by(sharding)
        dims = shardy.dims_of(sharding)
        if mesh is None:
            return self.everywhere(rank, [dim.is_open for dim in dims])
        replicated, unreduced = shardy.replicated_of(sharding), shardy.unreduced_of(sharding)
        return Sharding(mesh.name, dims, replicated, unreduced)

    def of_gspmd(self, said: gspmd.OpSharding | None, rank: int, open_dims=()) -> Sharding | None:
        """The sharding over axes; None where it says nothing or belongs to one device."""
        if said is None or isinstance(said, gspmd.Manual) or not self.meshes:
            return None
        partial: tuple[Axis, ...] = ()
        if isinstance(said, (gspmd.Everywhere, gspmd.Unreduced)):
            axes: list[tuple[Axis, ...]] = [()] * rank
            mesh = self.first.name
            if isinstance(said, gspmd.Unreduced):
                partial = tuple(map(Axis, self.first.axes))
        else:
            if said.rank != rank:
                raise Unsupported(
                    f"mhlo.sharding: tiles of rank {said.rank} of a tensor of rank {rank}"
                )
            mesh, axes = self._axes_of_tiling(said)
            partial = axes[rank + 1]
        dims = tuple(Dim(axes[i], i in open_dims) for i in range(rank))
        return Sharding(mesh, dims, partial=partial)

    @staticmethod
    def is_open(sharding: Sharding) -> bool:
        """Whether it leaves every dimension to the compiler and so says nothing."""
        is_open = all(dim.is_open and not dim.axes for dim in sharding.dims)
        return bool(sharding.dims) and is_open and not (sharding.replicated or sharding.partial)

    def manual_axes(self, said: gspmd.OpSharding | None) -> tuple[Mesh, tuple[str, ...]]:
        """The mesh and axes along which a value is one device's own."""
        if self.first is None:
            raise Unsupported("a region for one device in a program without shardings")
        if not isinstance(said, gspmd.Tiling):
            return self.first, tuple(self.first.axes)
        name, dims = self._axes_of_tiling(said)
        axes = dims[said.rank]
        parts = [axis.name for axis in axes if axis.size]
        if parts:
            raise Unsupported(f"a region that is manual along a part of an axis: {parts}")
        return self.meshes[name], tuple(axis.name for axis in axes)

    def everywhere(self, rank: int, is_open: list[bool] | None = None) -> Sharding | None:
        """Nothing split; `is_open` says which dimensions the compiler may split."""
        dims = tuple(Dim((), flag) for flag in is_open or [False] * rank)
        return self.first and Sharding(self.first.name, dims)

    def mesh_over(self, attribute: ir.Attribute) -> Mesh | None:
        """The mesh that an `#sdy.sharding` names."""
        return self._mesh_named_by(sdy.TensorShardingAttr(attribute))

    def _boundary_attributes(
        self, function: ir.Operation, key: str, index: int, default: MeshSharding | None
    ) -> dict[str, str]:
        found = dictionaries(function, key)
        attributes = found[index] if found else {}
        kind = "inputs" if key == "arg_attrs" else "results"
        type = getattr(ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value), kind)
        is_complex, rank = COMPLEX in attributes, ir.RankedTensorType(type[index]).rank
        rank -= is_complex
        sharding = self._of_attributes(attributes, [rank])[0]
        if sharding is None or self.is_open(sharding):
            known = default and default.over(self.meshes.values())
            if known is not None:
                return {"shoal.sharding": known.attribute()}
            sharding = self._unreduced_type(function, key, index) or sharding
        if is_complex:
            sharding = _with_halves(sharding or self.everywhere(rank, [True] * rank))
        if sharding is None or self.is_open(sharding):
            return {}
        return {"shoal.sharding": sharding.attribute()}

    def _unreduced_type(self, function: ir.Operation, key: str, index: int) -> Sharding | None:
        """That of a result which is unreduced where it is made. JAX's lowering does not always say such
        a type once more at the function, and a result of which nothing is said would be summed."""
        if key != "res_attrs":
            return None
        end = list(function.regions[0].blocks[0].operations)[-1].operation
        maker = defining_op(end.operands[index])
        if maker is None or maker.name not in ("sdy.sharding_constraint", "sdy.reshard"):
            return None
        said = self.of_sdy(maker.attributes["sharding"], ir.RankedTensorType(maker.results[0].type).rank)
        return said if said and said.partial else None

    def _of_attributes(self, attributes, ranks: list[int]) -> list[Sharding | None]:
        if SHARDY in attributes:
            found = shardy.per_value(attributes[SHARDY])
            _check_count(SHARDY, found, ranks)
            return [self.of_sdy(attribute, rank) for attribute, rank in zip(found, ranks)]
        if GSPMD in attributes:
            said = gspmd.parse(text_in(attributes, GSPMD))
            open_dims = unspecified_dims(attributes)
            if len(said) == 1:
                said = said * len(ranks)
            _check_count(GSPMD, said, ranks)
            return [self.of_gspmd(l, rank, open_dims) for l, rank in zip(said, ranks)]
        return [None] * len(ranks)

    def _mesh_named_by(self, sharding: sdy.TensorShardingAttr) -> Mesh | None:
        reference = sharding.mesh_or_ref
        if sdy.MeshAttr.isinstance(reference):
            return self._inlined_mesh(reference)
        name = ir.FlatSymbolRefAttr(reference).value
        if name in self._without_axes:
            return None
        if name not in self.meshes:
            raise Unsupported(f"sdy.sharding: there is no mesh @{name}")
        return self.meshes[name]

    def _inlined_mesh(self, attribute: ir.Attribute) -> Mesh | None:
        mesh = shardy.mesh_of(attribute, "")
        if mesh is None:
            return None
        mesh = aligned(mesh, self.meshes.values())
        for other in self.meshes.values():
            if (other.axes, other.device_ids) == (mesh.axes, mesh.device_ids):
                return other
        return self._add_mesh(Mesh(mesh.axes, device_ids=mesh.device_ids))

    def _add_mesh(self, mesh: Mesh) -> Mesh:
        """Under a name that no other has."""
        taken = {*self.meshes, *self._without_axes}
        names = ("mesh", *(f"mesh_{i}" for i in range(len(taken) + 1)))
        mesh.name = next(name for name in names if name not in taken)
        self.meshes[mesh.name] = mesh
        return mesh

    @staticmethod
    def _reads_numbers(module: ir.Module) -> bool:
        return any(op.name == "stablehlo.partition_id" for op in walk(module.operation))

    @staticmethod
    def _check_replicas(module: ir.Module) -> None:
        attributes = module.operation.attributes
        if "mhlo.num_replicas" not in attributes:
            return
        replicas = required(attributes, "mhlo.num_replicas", ir.IntegerAttr).value
        if replicas != 1:
            raise Unsupported(
                f"mhlo.num_replicas = {replicas}: programs of replicas (jax.pmap) are not"
                " supported; partition with jit and a mesh instead"
            )

    def _collect_meshes(self, op: ir.Operation) -> None:
        if op.name == "sdy.mesh":
            name = ir.StringAttr(op.attributes["sym_name"]).value
            mesh = shardy.mesh_of(op.attributes["mesh"], name)
            if mesh is None:
                self._without_axes.add(name)
            else:
                self.meshes[name] = aligned(mesh, self.meshes.values())
        for attribute in sdy_shardings(op):
            if sdy.MeshAttr.isinstance(attribute.mesh_or_ref):
                self._inlined_mesh(attribute.mesh_or_ref)

    def _add_gspmd_mesh(self, tilings: list[gspmd.Tiling], module: ir.Module) -> None:
        if self.meshes:
            return
        attributes = module.operation.attributes
        devices = tilings[0].devices.size if tilings else 1
        if not tilings and "mhlo.num_partitions" in attributes:
            devices = required(attributes, "mhlo.num_partitions", ir.IntegerAttr).value
        if not tilings and devices == 1:
            return
        digits: list[Digit] = []
        for tiling in tilings:
            for dim in digits_of(tiling.devices) or []:
                digits.extend(dim)
        sizes = common_sizes(devices, digits)
        self._add_mesh(Mesh([(f"axis{i}", size) for i, size in enumerate(sizes)]))

    def _keep_fewest(self, tilings: list[gspmd.Tiling]) -> None:
        """Of GSPMD's meshes those that tile most, first: of few meshes few values change theirs."""
        different = {(t.rank, t.devices.shape, t.devices.tobytes()): t for t in tilings}.values()
        tiled = [[_axes_over(t, mesh) is not None for t in different] for mesh in self.meshes.values()]
        left, kept = np.full(len(different), True), []
        while left.any():
            most = max(range(len(tiled)), key=lambda i: np.sum(left & tiled[i]))
            kept.append(list(self.meshes.values())[most])
            left &= ~np.array(tiled[most])
        self.meshes = {}
        for mesh in kept:
            self._add_mesh(mesh)

    def _axes_of_tiling(self, tiling: gspmd.Tiling) -> tuple[str, list[tuple[Axis, ...]]]:
        """A mesh and the axes along each dimension of the array of devices."""
        for mesh in list(self.meshes.values()):
            axes = _axes_over(tiling, mesh)
            if axes is not None:
                return mesh.name, axes
        first = self.first
        if tiling.devices.size != first.size:
            raise Unsupported(
                f"mhlo.sharding over {tiling.devices.size} devices in a program of {first.size}"
            )
        axes, ids = order_by_axes(tiling.devices, first)
        return self._add_mesh(Mesh(first.axes, device_ids=ids)).name, axes


def _with_halves(sharding: Sharding | None) -> Sharding | None:
    """Of an array whose last dimension is the halves of its numbers: these stay together."""
    return sharding and replace(sharding, dims=(*sharding.dims, Dim(())))


def _check_count(name: str, found: list, ranks: list[int]) -> None:
    if len(found) != len(ranks):
        raise Unsupported(f"{name}: {len(found)} shardings of {len(ranks)} values")


def _axes_over(tiling: gspmd.Tiling, mesh: Mesh) -> list[tuple[Axis, ...]] | None:
    if tiling.devices.size != mesh.size:
        return None
    devices = tiling.devices
    if mesh.device_ids is not None:
        position = np.argsort(mesh.device_ids)
        devices = np.sort(position[devices], axis=-1)
    dims = digits_of(devices)
    if dims is None:
        return None
    axes = [[axes_of(digit, mesh) for digit in digits] for digits in dims]
    if any(part is None for parts in axes[:-1] for part in parts):
        return None
    return [tuple(axis for part in parts for axis in part or ()) for parts in axes]
