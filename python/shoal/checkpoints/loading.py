# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loading: each process reads the rows of its devices."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shoal.checkpoints import manifest as manifests
from shoal.checkpoints.checkpoint import Checkpoint
from shoal.checkpoints.names import check_names, check_spec, named_leaves, spec_of
from shoal.checkpoints.ranks import ranks_with
from shoal.checkpoints.regions import region_of
from shoal.checkpoints.sources import ArchiveSource, SafetensorsSource, Source
from shoal.devices import Array, Devices, Placement, devices_of
from shoal.errors import InputError
from shoal.frontend import pytrees
from shoal.frontend.annotations import as_sharding
from shoal.mesh import Mesh
from shoal.mesh_sharding import placement_of

Tree = Any
# Where a leaf is to lie; None: in this process, as NumPy's.
_Target = tuple[Devices, Placement] | None


def open_source(path: str | os.PathLike[str]) -> Source:
    """A checkpoint, a safetensors file, a folder of these as Hugging Face has them, or a .npz.

    FileNotFoundError; CheckpointError where it is none of them, or is damaged.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(2, os.strerror(2), os.fspath(path))
    if path.is_dir():
        if (path / manifests.NAME).exists() or not any(path.glob("*.safetensors*")):
            return Checkpoint(path)
        if any(path.glob("shard-*-of-*-*.safetensors")):
            return Checkpoint(path)  # says that it has no manifest
        return SafetensorsSource(path)
    return ArchiveSource(path) if path.suffix == ".npz" else SafetensorsSource(path)


def load(
    source: str | os.PathLike[str] | Source,
    like: Tree,
    *,
    mesh: Mesh | None = None,
    sharding: Any = None,
    partial: bool = False,
) -> Tree:
    """The arrays of a checkpoint in a tree like `like`, whose leaves are arrays or TensorSpecs.

    source: what `open` takes, or what it returned.
    mesh, sharding: where they lie: on the mesh's devices by a tree of P or a prefix of one. Each
      process reads the rows of its devices, from which it is collective in an MPI job. Without
      a mesh a leaf that is on devices is loaded where the one of `like` lies, and any other is
      one of NumPy, which every process reads.
    partial: whether there may be arrays that the tree has not.

    InputError where names, shapes or types differ; CheckpointError where what is read is
    damaged, in a job on all ranks.
    """
    leaves, targets = named_leaves(like), _targets(like, mesh, sharding)
    ranks = next((ranks_with(target[0]) for target in targets if target), None)
    error: Exception | None = None
    arrays: list[Any] = []
    try:
        arrays = _read(source, leaves, targets, partial)
    except Exception as failed:
        error = failed
    if ranks is not None:
        ranks.raise_together(error)
    elif error is not None:
        raise error
    return pytrees.unflatten(pytrees.flatten(like)[1], arrays)


def _targets(like: Tree, mesh: Mesh | None, sharding: Any) -> list[_Target]:
    leaves = pytrees.flatten(like)[0]
    if mesh is None:
        if sharding is not None:
            raise InputError("load: a sharding needs a mesh")
        return [(leaf.devices, leaf.placement) if isinstance(leaf, Array) else None for leaf in leaves]
    devices = devices_of(mesh.size)
    given = pytrees.flatten_shardings(sharding, like, "sharding")
    targets: list[_Target] = []
    for (name, leaf), one in zip(named_leaves(like), given):
        shape, dtype = spec_of(leaf)
        wanted = as_sharding(one or (), shape, mesh, name)
        targets.append((devices, placement_of(wanted, mesh, shape, dtype)))
    return targets


def _read(
    source: Any, leaves: Sequence[tuple[str, Any]], targets: Sequence[_Target], partial: bool
) -> list[Any]:
    if isinstance(source, Source):
        _check(source, leaves, partial)
        return [_read_one(source, name, target) for (name, _), target in zip(leaves, targets)]
    with open_source(source) as opened:
        return _read(opened, leaves, targets, partial)


def _check(source: Source, leaves: Sequence[tuple[str, Any]], partial: bool) -> None:
    expected = {name for name, _ in leaves}
    check_names(source.arrays.keys(), expected, source.path, partial=partial)
    for name, leaf in leaves:
        check_spec(source.arrays[name], leaf, name, source.path)


def _read_one(source: Source, name: str, target: _Target) -> Any:
    if target is None:
        return source.read(name)
    devices, placement = target

    def read(slices: tuple[slice, ...], out: np.ndarray) -> None:
        source.read_into(name, region_of(slices), out)

    return devices.fill(placement, read)


