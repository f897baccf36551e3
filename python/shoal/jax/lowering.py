# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lowers traced JAX functions to the StableHLO that imports best."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np

from shoal.arrays.jax_primitives import PARTS, RAGGED_EINSUM, hint_p, ragged_einsum_p
from shoal.jax.attributes import HINT, STOP_GRADIENT
from shoal.jax.callbacks import CALLBACKS_WITH_RESULTS, Callbacks
from shoal.jax.private import (
    ad_util, conditionals, core, custom_partitioning, debugging, dispatch, dtypes, effects, lax, mlir, source_info_util,
)  # fmt: skip


def _stop_gradient(context: Any, value: Any) -> Any:
    """A call, as StableHLO has no op that says so; what has no gradient is what it is."""
    if not dtypes.issubdtype(context.avals_in[0].dtype, np.inexact):
        return [value]
    return mlir.custom_call(STOP_GRADIENT, result_types=[value.type], operands=[value]).results


def _custom_partitioning(context: Any, *values: Any, call: Any, **_: Any) -> Any:
    """The function itself: its ops are partitioned like any others, by rules of their own."""
    return mlir.lower_fun(core.jaxpr_as_fun(call), multiple_results=True)(context, *values)


def _ragged_einsum(context: Any, *values: Any, spec: str, rows: str, dtype: Any) -> Any:
    """A call with what it sums over, as StableHLO has rows of groups in fewer forms."""
    types = [mlir.ir.RankedTensorType.get(a.shape, mlir.dtype_to_ir_type(a.dtype)) for a in context.avals_out]
    config = json.dumps({"spec": spec, "rows": rows})
    return mlir.custom_call(RAGGED_EINSUM, result_types=types, operands=values, backend_config=config).results


def _hint(context: Any, value: Any, *, sharding: Any, binds: bool) -> Any:
    """A constraint that says of itself that it only asks, also where XLA is bound."""
    constrain = partial(jax.lax.with_sharding_constraint, shardings=sharding)
    made = mlir.lower_fun(constrain, multiple_results=False)(context, value)
    made[0].owner.attributes[HINT] = mlir.ir.UnitAttr.get()
    return made


def _branches(context: Any, index: Any, *values: Any, branches: Any, branches_platforms: Any = None, **params: Any) -> Any:
    """Of `jax.lax.platform_dependent` with a part for this compiler, that; else what JAX makes of it."""
    for branch, platforms in zip(branches, branches_platforms or ()):
        if PARTS in (platforms or ()):
            inner = context.replace(avals_in=context.avals_in[1:])
            return mlir.lower_fun(core.jaxpr_as_fun(branch), multiple_results=True)(inner, *values)
    params |= {"branches": branches, "branches_platforms": branches_platforms}
    return conditionals._cond_lowering(context, index, *values, **params)


# For CPUs JAX masks the operands of a ragged_dot once per group; the rule for
# TPUs writes chlo.ragged_dot, of which only rows of groups are multiplied.
_RULES = (
    (lax.ragged_dot_general_p, partial(lax._ragged_dot_general_lower, platform="tpu")),
    (ad_util.stop_gradient_p, _stop_gradient),
    (custom_partitioning.custom_partitioning_p, _custom_partitioning),
    (ragged_einsum_p, _ragged_einsum),
    (hint_p, _hint),
    (conditionals.cond_p, _branches),
)

# What JAX knows of its primitives is changed by one lowering at a time.
_turn = threading.RLock()

# Locations are those of the caller's lines, not of this package's.
source_info_util.register_exclusion(str(Path(__file__).parents[1]))


def lower(traced: Any, callbacks: Callbacks | None = None) -> Any:
    """What `jax.jit(function).trace(...)` gives, lowered for CPUs with its groups kept.

    callbacks: gets those of the host.
    Returns JAX's Lowered, which `import_stablehlo` takes; XLA compiles another one.
    """
    noted = callbacks.rules() if callbacks else ()
    parameters = mlir.LoweringParameters(override_lowering_rules=(*_RULES, *noted))
    with _without_devices(callbacks is not None):
        return traced.lower(lowering_platforms=("cpu",), _private_parameters=parameters)


@contextlib.contextmanager
def _without_devices(calls_host: bool) -> Iterator[None]:
    """What JAX asks for devices for lowers for abstract meshes meanwhile, callbacks for several devices, too.

    It asks where a callback has results, since a device may be named that calls; ours is the first of the
    mesh. It orders no prints of several devices; ours stand in order. Functions with partitioning of their
    own are lowered without it.
    """
    asking = dispatch.prim_requires_devices_during_lowering
    shardable = effects.shardable_ordered_effects._effect_types
    with _turn:
        removed = asking & {custom_partitioning.custom_partitioning_p, *(CALLBACKS_WITH_RESULTS if calls_host else ())}
        added = ({debugging.OrderedDebugEffect} if calls_host else set()) - shardable
        asking -= removed
        shardable |= added
        try:
            yield
        finally:
            asking |= removed
            shardable -= added
