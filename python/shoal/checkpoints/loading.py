# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loading: each process reads the rows of its devices."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from shoal.checkpoints import manifest as manifests
from shoal.checkpoints.checkpoint import Checkpoint
from shoal.checkpoints.matching import Copy, Match, match, read_copies
from shoal.checkpoints.names import check_names, listed, named_leaves, spec_of
from shoal.checkpoints.ranks import ranks_of, ranks_with
from shoal.checkpoints.regions import region_of, whole
from shoal.checkpoints.sources import ArchiveSource, SafetensorsSource, Source
from shoal.devices import Array, Devices, Placement, devices_of
from shoal.errors import CheckpointWarning, InputError
from shoal.frontend import pytrees
from shoal.frontend.annotations import as_sharding
from shoal.frontend.tracing import TensorSpec
from shoal.laws import PATH, check_arguments
from shoal.mesh import Mesh
from shoal.mesh_sharding import placement_of

Tree = Any
# Where a leaf is to lie; None: in this process, as NumPy's.
Target = tuple[Devices, Placement] | None


def open_source(path: str | os.PathLike[str]) -> Source:
    """A checkpoint, a safetensors file, a folder of these as Hugging Face has them, or a .npz.

    FileNotFoundError; CheckpointError where it is none of them, or is damaged.
    """
    check_arguments("open", path=(path, PATH))
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
    strict: bool = True,
) -> Tree:
    """The arrays of a checkpoint in a tree like `like`, whose leaves are arrays or TensorSpecs.

    Arrays are found by their names; layers also where they were cut into another number of
    stages; of an optimiser's state also where it stood elsewhere in a chain, by the parameter and
    the role that they have.

    source: what `open` takes, or what it returned.
    mesh, sharding: where they lie: on the mesh's devices by a tree of P or a prefix of one. Each
      process reads the rows of its devices, from which it is collective in an MPI job. Without
      a mesh a leaf that is on devices is loaded where the one of `like` lies, and any other is
      one of NumPy, which every process reads.
    partial: whether there may be arrays that the tree has not.
    strict: False: leaves that there is no array of begin as they are in `like`, and arrays that the
      tree has not are left out. A CheckpointWarning names them. An InputError where that is all.

    InputError where names, shapes or types differ; CheckpointError where what is read is
    damaged, in a job on all ranks.
    """
    return load_to(source, like, _targets(like, mesh, sharding), partial=partial, strict=strict)


def load_to(
    source: Any, like: Tree, targets: Sequence[Target], *, partial: bool, strict: bool
) -> Tree:
    """`load`, by the place where each leaf is to lie."""
    leaves = named_leaves(like)
    ranks = next((ranks_with(target[0]) for target in targets if target), None)
    error: Exception | None = None
    read = _Read([], "")
    try:
        read = _read(source, leaves, targets, partial, strict)
    except Exception as failed:
        error = failed
    if ranks is not None:
        ranks.raise_together(error)
    elif error is not None:
        raise error
    if read.differences and (ranks or ranks_of(())).is_first:
        warnings.warn(read.differences, CheckpointWarning, stacklevel=3)
    # Of leaves on devices this is collective: no rank has an error any more.
    arrays = [
        _begun(leaf, name, target) if array is None else array
        for array, (name, leaf), target in zip(read.arrays, leaves, targets)
    ]
    return pytrees.unflatten(pytrees.flatten(like)[1], arrays)


def _targets(like: Tree, mesh: Mesh | None, sharding: Any) -> list[Target]:
    leaves = pytrees.flatten(like)[0]
    if mesh is None:
        if sharding is not None:
            raise InputError("load: a sharding needs a mesh")
        return [(leaf.devices, leaf.placement) if isinstance(leaf, Array) else None for leaf in leaves]
    devices = devices_of(mesh.size)
    given = pytrees.flatten_shardings(sharding, like, "sharding")
    targets: list[Target] = []
    for (name, leaf), one in zip(named_leaves(like), given):
        shape, dtype = spec_of(leaf)
        wanted = as_sharding(one or (), shape, mesh, name)
        targets.append((devices, placement_of(wanted, mesh, shape, dtype)))
    return targets


class _Read(NamedTuple):
    """arrays: None of a leaf that begins anew. differences: which these are, for people; "" of none."""

    arrays: list[Any]
    differences: str


def _read(
    source: Any,
    leaves: Sequence[tuple[str, Any]],
    targets: Sequence[Target],
    partial: bool,
    strict: bool,
) -> _Read:
    if not isinstance(source, Source):
        with open_source(source) as opened:
            return _read(opened, leaves, targets, partial, strict)
    found = _matched(source, leaves, partial, strict)
    arrays = [
        None if copies is None else _read_one(source, name, leaf, copies, target)
        for (name, leaf), copies, target in zip(leaves, found.copies, targets)
    ]
    return _Read(arrays, _differences(source, found, partial))


def _matched(
    source: Source, leaves: Sequence[tuple[str, Any]], partial: bool, strict: bool
) -> Match:
    """InputError where the tree is another one; where it is a damaged source, CheckpointError."""
    try:
        found = match(source, leaves)
        if strict or not any(found.copies):  # it is of something else
            check_names(found.missing, [] if partial else found.unknown, source.path)
    except InputError:
        source.check_heads()
        raise
    return found


def _differences(source: Source, found: Match, partial: bool) -> str:
    parts = []
    for names, what in ((found.missing, "begins anew"), (found.unknown, "is left out")):
        if names and not (partial and names is found.unknown):
            parts.append(f"{what}: {listed(names)}")
    return f"{source.path}: {'; '.join(parts)}" if parts else ""


def _read_one(
    source: Source, name: str, leaf: Any, copies: Sequence[Copy], target: Target
) -> Any:
    shape, dtype = spec_of(leaf)
    if target is None:
        out = np.empty(shape, dtype)
        read_copies(source, name, copies, whole(shape), out)
        return out
    devices, placement = target

    def read(slices: tuple[slice, ...], out: np.ndarray) -> None:
        read_copies(source, name, copies, region_of(slices), out)

    return devices.fill(placement, read)


def _begun(leaf: Any, name: str, target: Target) -> Any:
    """A leaf of the tree itself, where it is to lie."""
    if isinstance(leaf, TensorSpec):
        raise InputError(f"{name}: begins anew, and needs an array to begin with instead of a TensorSpec")
    if target is None:
        return np.asarray(leaf)
    devices, placement = target
    is_there = isinstance(leaf, Array) and (leaf.devices, leaf.placement) == target
    return leaf if is_there else devices.put(np.asarray(leaf), placement)
