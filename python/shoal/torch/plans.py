# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans of others as globs for `params=`: transformers' tables of styles, DTensors' placements. Read by duck type.

A style of transformers says what each process does around a module; here it is where the parameters lie, and what has to
be sent and summed follows from that, also in gradients.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from shoal.errors import TraceError, UnsupportedError
from shoal.frontend.annotations import P
from shoal.mesh import Mesh

# By the parameter's shape and the axis. A Linear's weight is [out, in], one of all experts [E, out, in]: columns are the last
# dimension but one, rows the last.
_Style = Callable[[int, str], P]


def _columns(rank: int, axis: str) -> P:
    return P(axis) if rank == 1 else P(*[None] * (rank - 2), axis, None)


def _rows(rank: int, axis: str) -> P:
    # A bias is added once, to the sum: it lies whole.
    return P() if rank == 1 else P(*[None] * (rank - 1), axis)


def _first(rank: int, axis: str) -> P:
    return P(axis, *[None] * (rank - 1))


def _whole(rank: int, axis: str) -> P:
    return P()


_STYLES: dict[str, _Style] = {
    "colwise": _columns,
    "packed_colwise": _columns,
    "colwise_rep": _columns,
    "colwise_gather_output": _columns,
    "rowwise": _rows,
    "packed_rowwise": _rows,
    "rowwise_rep": _rows,
    "rowwise_split_input": _rows,
    "embedding_rowwise": _first,
    "embedding_colwise": _rows,
    "grouped_gemm": _first,
    "replicated_with_grad_allreduce": _whole,
    "mla_kv_a_proj": _whole,
    "replicate": _whole,
}
# What is done with activations around a module, which the compiler finds by itself.
_OF_ACTIVATIONS = frozenset(
    {"moe_tp_experts", "ep_dispatch_experts", "ep_router", "gather", "sequence_parallel", "all_reduce", "moe_identity_expert", "local_params"}
)


def tp_plan(model: Any, axis: str = "model") -> dict[str, P]:
    """Of a model's `base_model_tp_plan`, and its own for its head: globs for `params=`, over an axis of the mesh.

    model: of transformers, whose config has the plan. UnsupportedError of a style that is not known, with its module.
    """
    return _plan(model, "base_model_tp_plan", axis)


def ep_plan(model: Any, axis: str = "expert") -> dict[str, P]:
    """As `tp_plan`, of `base_model_ep_plan`: experts over an axis of the mesh."""
    return _plan(model, "base_model_ep_plan", axis)


def _plan(model: Any, table: str, axis: str) -> dict[str, P]:
    styles = getattr(model.config, table, None)
    if not styles:
        raise TraceError(f"{type(model).__name__}: its config has no {table}")
    prefix = getattr(model, "base_model_prefix", "")
    inner = f"{prefix}." if prefix and hasattr(model, prefix) else ""
    found = {f"{inner}{path}": style for path, style in styles.items()}
    if table == "base_model_tp_plan":
        # The head's, which is no part of the base model.
        found |= {path: style for path, style in (getattr(model, "_tp_plan", None) or {}).items() if _is_head(path, inner)}
    parameters = {name: len(parameter.shape) for name, parameter in model.named_parameters(remove_duplicate=False)}
    return of_styles(found, parameters, axis)


def _is_head(path: str, inner: str) -> bool:
    return bool(inner) and not path.startswith(inner)


def of_styles(styles: Mapping[str, str], parameters: Mapping[str, int], axis: str) -> dict[str, P]:
    """Where parameters lie by a table of styles.

    styles: of modules or parameters, by globs over their paths: "layers.*.mlp.up_proj" to "colwise".
    parameters: how many dimensions each has, by its name. UnsupportedError of a style that is not known.
    """
    plan: dict[str, P] = {}
    for path, style in styles.items():
        if style in _OF_ACTIVATIONS:
            continue
        if style not in _STYLES:
            known = ", ".join(sorted([*_STYLES, *_OF_ACTIVATIONS]))
            raise UnsupportedError(f'plan: "{path}": style "{style}" is not supported; expected one of {known}')
        for name, rank in parameters.items():
            if any(fnmatch.fnmatchcase(name, f"{path}{end}") for end in ("", ".weight", ".bias")):
                plan[name] = _STYLES[style](rank, axis)
    return plan


# Placements of DTensors


def dtensor_plan(module: Any) -> dict[str, P]:
    """Where a module's parameters lie that are DTensors, as of parallelize_module: for the same module without them."""
    return {
        name: of_placements(parameter.placements, names_of(parameter.device_mesh), len(parameter.shape), name)
        for name, parameter in module.named_parameters(remove_duplicate=False)
        if hasattr(parameter, "placements") and hasattr(parameter, "device_mesh")
    }


def mesh_of(device_mesh: Any) -> Mesh:
    """The mesh of a DeviceMesh, with its names; no process group is needed."""
    sizes = device_mesh.shape if hasattr(device_mesh, "shape") else device_mesh.mesh.shape
    return Mesh(zip(names_of(device_mesh), map(int, sizes)))


def names_of(device_mesh: Any) -> Sequence[str]:
    """The names of its axes; TraceError where it has none."""
    names = device_mesh.mesh_dim_names
    if not names:
        raise TraceError("DeviceMesh: its dimensions have no names; give mesh_dim_names")
    return names


def of_placements(placements: Sequence[Any], axes: Sequence[str], rank: int, name: str = "tensor") -> P:
    """One placement for each axis of a mesh, the first the outermost.

    Shard(d): the axis splits dimension d, within what axes before it have split. _StridedShard(d): within what the
    axes behind it split, too. UnsupportedError of Partial: what lies at a program's border is no sum.
    """
    dims: list[list[str]] = [[] for _ in range(rank)]
    outer: list[list[str]] = [[] for _ in range(rank)]
    for placement, axis in zip(placements, axes, strict=True):
        kind = type(placement).__name__
        if kind == "Replicate":
            continue
        if kind not in ("Shard", "_StridedShard"):
            raise UnsupportedError(
                f'"{name}": placement {placement!r} over "{axis}" is not supported; expected Shard or Replicate'
            )
        dim = placement.dim % rank
        # Strided: the axes behind it have split the dimension before it did, so they are the outer ones.
        (outer if kind == "_StridedShard" else dims)[dim].append(axis)
    entries = [tuple([*inner, *strided]) for inner, strided in zip(dims, outer)]
    return P(*(entry[0] if len(entry) == 1 else entry or None for entry in entries))
