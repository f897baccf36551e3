# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training steps of others, in processes of their own under torch.distributed with gloo."""

from __future__ import annotations

import pickle
import tempfile
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from shoal.errors import InputError, RunError
from shoal.frontend.annotations import P
from shoal.mesh import Mesh
from shoal.torch.shardings import is_spec
from shoal.torch.tensors import to_numpy

Peer = Callable[[torch.nn.Module, Callable[..., Any], Any, Any], tuple[Any, Mapping[str, Any]]]
"""Of (module, loss, batch, device mesh): what a process has of the loss and of gradients by names of parameters."""


def run_peers(against: str | Peer, given: tuple[Any, ...], mesh: Mesh, plan: Mapping[str, P | None], inputs: Any, timeout: float) -> list[dict[str, Any]]:
    """Of each process of the mesh "loss" and gradients, arrays of float32.

    given: (module, loss, batch). InputError of what is not picklable; RunError of what a process raises.
    """
    if isinstance(against, str) and against != "dtensor":
        raise InputError(f'check: against: expected "dtensor" or a function, got {against!r}')
    try:
        job = pickle.dumps((against, given, dict(mesh.axes), plan, inputs))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise InputError(f"check: the module, the loss and the function go to new processes: {error}; define them at a module's top level") from None
    # Forked from a process that has imported torch, once.
    context = torch.multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["torch", "torch.distributed.tensor", "shoal.torch.peers"])
    with tempfile.TemporaryDirectory() as folder:
        processes = [context.Process(target=_work, args=(rank, mesh.size, folder, job), daemon=True) for rank in range(mesh.size)]
        for process in processes:
            process.start()
        for process in processes:
            process.join(timeout)
        late = [rank for rank, process in enumerate(processes) if process.is_alive()]
        for rank in late:
            processes[rank].kill()
        return [_result(Path(folder), rank, rank in late, timeout) for rank in range(mesh.size)]


def _result(folder: Path, rank: int, is_late: bool, timeout: float) -> dict[str, Any]:
    path = folder / f"{rank}"
    if not path.exists():
        raise RunError(f"check: process {rank} of theirs {f'took more than {timeout} s' if is_late else 'ended without a result'}")
    kind, value = pickle.loads(path.read_bytes())
    if kind == "error":
        raise RunError(f"check: process {rank} of theirs:\n{value}")
    return value


def _work(rank: int, size: int, folder: str, job: bytes) -> None:
    """What a process does: its result, or its error, is a file."""
    try:
        result = ("result", _step(rank, size, folder, job))
    except Exception:
        result = ("error", traceback.format_exc())
    path = Path(folder) / f"{rank}"
    path.with_suffix(".part").write_bytes(pickle.dumps(result))
    path.with_suffix(".part").rename(path)


def _step(rank: int, size: int, folder: str, job: bytes) -> dict[str, np.ndarray]:
    from torch.distributed import destroy_process_group, init_process_group
    from torch.distributed.device_mesh import init_device_mesh

    torch.set_num_threads(1)
    against, (module, loss, batch), axes, plan, inputs = pickle.loads(job)
    init_process_group("gloo", init_method=f"file://{folder}/rendezvous", rank=rank, world_size=size)
    try:
        mesh = init_device_mesh("cpu", tuple(axes.values()), mesh_dim_names=tuple(axes))
        if against == "dtensor":
            value, grads = _by_dtensors(module, loss, batch, mesh, plan, inputs)
        else:
            value, grads = against(module, loss, batch, mesh)
        return {name: _array(one) for name, one in {"loss": value, **grads}.items() if one is not None}
    finally:
        destroy_process_group()


def _array(value: Any) -> np.ndarray:
    whole = value.full_tensor() if hasattr(value, "full_tensor") else value
    return np.array(to_numpy(torch.as_tensor(whole).detach().float()))


def _by_dtensors(module: Any, loss: Any, batch: Any, mesh: Any, plan: Mapping[str, P | None], inputs: Any) -> tuple[Any, dict[str, Any]]:
    """Parameters and the batch as DTensors that lie by the plan; what torch makes beside them is whole."""
    from torch.distributed.tensor import distribute_tensor
    from torch.distributed.tensor.experimental import implicit_replication
    from torch.utils import _pytree

    for name, parameter in list(module.named_parameters()):
        owner, _, last = name.rpartition(".")
        placed = distribute_tensor(parameter.detach(), mesh, placements_of(plan.get(name), mesh))
        setattr(module.get_submodule(owner), last, torch.nn.Parameter(placed, requires_grad=parameter.requires_grad))

    def spread(tensor: torch.Tensor) -> Any:
        spec = inputs if is_spec(inputs) and inputs is not None and tensor.ndim >= len(inputs.dims) else None
        return distribute_tensor(tensor, mesh, placements_of(spec, mesh))

    with implicit_replication():
        result = loss(module, _pytree.tree_map_only(torch.Tensor, spread, batch))
        value = result[0] if isinstance(result, tuple) else result
        value.backward()
    return value, {name: parameter.grad for name, parameter in module.named_parameters()}


def placements_of(spec: P | None, mesh: Any) -> list[Any]:
    """One placement for each axis of a device mesh, of what `P` says of dimensions."""
    from torch.distributed.tensor import Replicate, Shard

    placements: list[Any] = [Replicate()] * len(mesh.mesh_dim_names)
    for dim, entry in enumerate(spec.dims if spec is not None else ()):
        axes = (entry,) if isinstance(entry, str) else tuple(entry or ())
        places = [mesh.mesh_dim_names.index(axis) for axis in axes]
        if places != sorted(places):
            raise InputError(f"check: {spec!r}: DTensors split dimension {dim} by axes in the mesh's order")
        for place in places:
            placements[place] = Shard(dim)
    return placements
