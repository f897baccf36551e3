# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans that modules carry, as torchtitan's have a ShardingConfig each: where states and results lie, by axes' names. Read by duck type.

    exe = shoal.torch.compile(model, (ids,), mesh=mesh, **shoal.torch.sharding_plan(model, {"tp": "model", "ep": "expert"}))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.errors import TraceError, UnsupportedError
from shoal.frontend.annotations import P

# Where each device has the whole, or an addend of it: a program's value is the whole.
_WHOLE = ("R", "I", "P", "Replicate", "Invariant", "Partial")


def sharding_plan(module: Any, axes: Mapping[str, str | Sequence[str] | None] | None = None) -> dict[str, dict[str, P]]:
    """`params` and `activations` for `shoal.torch.compile`, `jit` and `train_step`.

    module: whose modules have `sharding_config`s, or `_sharding_config`s. axes: of the mesh by the plan's names of axes, one, several from
      major to minor, or None; those that are not named are not there, as axes of size 1. None: all, by their own names.
    TraceError where no module has one; UnsupportedError of a type of an axis that is not known, with its module.
    """
    found = {path: _config_of(inner) for path, inner in module.named_modules()}
    configs = {path: config for path, config in found.items() if config is not None}
    if not configs:
        raise TraceError(f"{type(module).__name__}: none of its modules has a sharding_config")
    named = [*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)]
    return of_configs(configs, {name: len(tensor.shape) for name, tensor in named}, axes)


def _config_of(module: Any) -> Any:
    return getattr(module, "sharding_config", None) or getattr(module, "_sharding_config", None)


def of_configs(configs: Mapping[str, Any], ranks: Mapping[str, int], axes: Mapping[str, Any] | None = None) -> dict[str, dict[str, P]]:
    """The same of configurations by modules' paths.

    ranks: how many dimensions parameters and buffers have; what a configuration says of others, as of a bias that is not there, is
    left. Of what is redistributed around modules only where results lie counts: what is sent follows.
    """
    params, activations = {}, {}
    for path, config in configs.items():
        for name, layout in (config.state_shardings or {}).items():
            full = f"{path}.{name}" if path else name
            if full in ranks:
                params[full] = of_layout(layout, axes, full, ranks[full])
        result = config.out_dst_shardings or config.out_src_shardings
        if isinstance(result, (tuple, list)):
            raise UnsupportedError(f'plan: "{path}": {len(result)} results are not supported; expected one')
        spec = of_layout(result, axes, path) if result is not None else P()
        if path and any(spec.dims):
            activations[path] = spec
    return {"params": params, "activations": activations}


def of_layout(layout: Any, axes: Mapping[str, Any] | None, what: str, rank: int | None = None) -> P:
    """A type for each axis, and of what varies along axes a specification of dimensions; or a dict of the former."""
    types = getattr(layout, "axis_types", layout)
    split: dict[int, list[str]] = {}
    spec = getattr(layout, "partition_spec", None) or ()
    for dim, entry in enumerate(spec):
        for axis in entry if isinstance(entry, (tuple, list)) else () if entry is None else (entry,):
            split.setdefault(dim, []).extend(_axes(axis, axes))
    said = {_word(axis) for entry in spec for axis in (entry if isinstance(entry, (tuple, list)) else (entry,)) if axis is not None}
    for axis, kind in types.items():
        dim = _dim(kind, axis, what, rank, said)
        if dim is not None:
            split.setdefault(dim, []).extend(_axes(axis, axes))
    return P(*(_entry(split.get(dim, ())) for dim in range(max(split, default=-1) + 1)))


def _dim(kind: Any, axis: Any, what: str, rank: int | None, said: set[str]) -> int | None:
    """The dimension that an axis splits; None: none, or the one that the specification has said."""
    dim = getattr(kind, "dim", None)
    word = getattr(kind, "name", type(kind).__name__)
    if dim is None and (word in _WHOLE or (word == "V" and _word(axis) in said)):
        return None
    if dim is None or (dim < 0 and rank is None):
        raise UnsupportedError(f'plan: "{what}": {kind!r} over "{_word(axis)}" is not supported; expected S(dim), R, I, P, or V with a PartitionSpec')
    return dim % rank if rank is not None else dim


def _axes(axis: Any, axes: Mapping[str, Any] | None) -> list[str]:
    """Those of the mesh."""
    word = _word(axis)
    found = word if axes is None else axes.get(word)
    return [found] if isinstance(found, str) else list(found or ())


def _word(axis: Any) -> str:
    return str(getattr(axis, "value", axis))


def _entry(axes: Sequence[str]) -> Any:
    return axes[0] if len(axes) == 1 else tuple(axes) or None
