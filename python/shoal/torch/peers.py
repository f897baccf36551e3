# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training steps of others, in processes of their own under torch.distributed with gloo."""

from __future__ import annotations

import pickle
import sys
import tempfile
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from shoal.errors import InputError, RunError
from shoal.frontend.annotations import P
from shoal.mesh import Mesh
from shoal.torch.shardings import is_spec
from shoal.torch.tensors import to_numpy

def run_peers(against: Any, given: tuple[Any, ...], mesh: Mesh, plan: Mapping[str, P | None], inputs: Any, timeout: float) -> list[dict[str, Any]]:
    """Of each process of the mesh "loss" and gradients, arrays of float32.

    against, given: as of `check`, (module, loss, batch). InputError of what is not picklable; RunError of what a process raises.
    """
    against = _checked(against, given[0], mesh.size)
    try:
        job = pickle.dumps((against, given, dict(mesh.axes), plan, inputs))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise InputError(f"check: the module, the loss and the function go to new processes: {error}; define them at a module's top level") from None
    # Forked from a process that has imported torch, once.
    context = torch.multiprocessing.get_context("forkserver")
    others = [name for name in ("transformers.modeling_utils",) if name in sys.modules]
    context.set_forkserver_preload(["torch", "torch.distributed.tensor", "shoal.torch.peers", *others])
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


def _checked(against: Any, module: Any, size: int) -> Any:
    """InputError of another system than there is; for "transformers" the configuration of its expert parallelism."""
    if against == "dtensor" or (callable(against) and not _is_config(against)):
        return against
    if against != "transformers" and not _is_config(against):
        raise InputError(f'check: against: expected "dtensor", "transformers", a DistributedConfig of transformers, or a function, got {against!r}')
    if not hasattr(module, "save_pretrained"):
        raise InputError(f"check: against transformers: expected a model of transformers, got {type(module).__name__}")
    if _is_config(against):
        return against
    from transformers.distributed import DistributedConfig

    # Experts by its ep_plan over all processes, each of which has rows of its own; other parameters by FSDP.
    return DistributedConfig(fsdp_size=size, ep_size=size)


def _is_config(against: Any) -> bool:
    return all(hasattr(against, name) for name in ("tp_size", "ep_size", "dp_size"))


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
        elif _is_config(against):
            value, grads = _by_transformers(module, loss, batch, against, f"{folder}/model")
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


def _by_transformers(module: Any, loss: Any, batch: Any, config: Any, folder: str) -> tuple[Any, dict[str, Any]]:
    """A model of transformers, distributed as it does itself; each of its data-parallel ranks has its rows of the batch."""
    from torch.distributed import all_reduce, barrier, get_rank, get_world_size
    from torch.utils import _pytree

    if get_rank() == 0:
        module.save_pretrained(folder)
    barrier()
    kinds = {"attn_implementation": module.config._attn_implementation, "experts_implementation": _experts_of(module)}
    given = {name: kind for name, kind in kinds.items() if kind is not None}
    model = type(module).from_pretrained(folder, distributed_config=config, dtype=module.dtype, **given).train(module.training)
    for name, parameter in module.named_parameters():
        if not parameter.requires_grad:
            model.get_parameter(name).requires_grad_(False)
    # The innermost axis of its mesh is tensor parallelism's, whose ranks have the same rows.
    number = get_rank() // config.tp_size
    result = loss(model, _pytree.tree_map_only(torch.Tensor, lambda rows: rows.chunk(config.dp_size)[number], batch))
    value = result[0] if isinstance(result, tuple) else result
    value.backward()
    mean = value.detach().clone()
    all_reduce(mean)
    return mean / get_world_size(), {name: parameter.grad for name, parameter in model.named_parameters()}


def _experts_of(module: Any) -> str | None:
    """Shoal's op is no kernel of theirs."""
    kind = getattr(module.config, "_experts_implementation", None)
    return "grouped_mm" if kind == "shoal" else kind


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
