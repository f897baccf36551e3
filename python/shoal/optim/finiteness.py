# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps that are left out where gradients are not finite, and the scale of a loss in few bits."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shoal.arrays import as_value, isfinite, like, logical_and, maximum, minimum, where
from shoal.errors import TraceError
from shoal.frontend import pytrees
from shoal.optim.transforms import Transform, global_norm
from shoal.optim.trees import count, widened, zip_leaves

__all__ = ["IfFinite", "LossScale", "all_finite", "apply_if_finite", "dynamic_loss_scale"]

Tree = Any


class IfFinite(NamedTuple):
    """inner: the transform's state. skipped: how many steps were left out."""

    inner: Tree
    skipped: Any


class LossScale(NamedTuple):
    """loss_scale: what the next step multiplies its loss by. good_steps: how many were finite
    since it has changed. inner, skipped: as of IfFinite."""

    inner: Tree
    loss_scale: Any
    good_steps: Any
    skipped: Any


def all_finite(tree: Tree) -> Any:
    """Whether the global norm is finite: a scalar bool, for one all-reduce of four bytes.

    Squares beyond float32 (numbers beyond 1.8e19) count as infinite.
    """
    return isfinite(global_norm(tree))


def apply_if_finite(inner: Transform) -> Transform:
    """Leaves a step out whose gradients are not finite: updates are zero, the state stays.

    Both are computed and one is chosen, so that all devices do the same in every step.
    """

    def update(grads: Tree, state: IfFinite, params: Tree) -> tuple[Tree, IfFinite]:
        finite = all_finite(grads)
        updates, kept = _update_if(finite, inner, grads, state.inner, params)
        return updates, IfFinite(kept, as_value(state.skipped, finite) + where(finite, 0, 1))

    return Transform(lambda params: IfFinite(inner.init(params), count()), update, _rate_of(inner))


def dynamic_loss_scale(
    inner: Transform,
    init_scale: float = 2.0**16,
    growth_factor: float = 2.0,
    backoff_factor: float = 0.5,
    growth_interval: int = 2000,
    min_scale: float = 1.0,
    max_scale: float = 2.0**24,
) -> Transform:
    """For gradients of `loss * state.loss_scale`, which float16 would flush to zero without it.

    Divides them by the scale, and leaves steps out as `apply_if_finite`. The scale falls by
    `backoff_factor` in a step that is left out, and grows by `growth_factor` behind
    `growth_interval` others. Powers of two keep all bits. Names are those of
    torch.amp.GradScaler. It is the outermost transform, as the step reads its state.
    """
    if not 0.0 < backoff_factor < 1.0 < growth_factor or growth_interval < 1:
        raise TraceError(
            f"dynamic_loss_scale: expected backoff_factor {backoff_factor} in (0, 1), "
            f"growth_factor {growth_factor} above 1, growth_interval {growth_interval} at least 1"
        )
    if not 0.0 < min_scale <= init_scale <= max_scale:
        raise TraceError(
            f"dynamic_loss_scale: expected 0 < min_scale {min_scale} <= init_scale {init_scale} "
            f"<= max_scale {max_scale}"
        )

    def init(params: Tree) -> LossScale:
        return LossScale(inner.init(params), np.array(init_scale, np.float32), count(), count())

    def update(grads: Tree, state: LossScale, params: Tree) -> tuple[Tree, LossScale]:
        of = like(grads)
        scale, good = as_value(state.loss_scale, of), as_value(state.good_steps, of) + 1
        grads = pytrees.map_leaves(lambda g: _divided(g, scale), grads)
        finite = all_finite(grads)
        updates, kept = _update_if(finite, inner, grads, state.inner, params)
        grows = good >= growth_interval
        grown = where(grows, minimum(scale * growth_factor, max_scale), scale)
        fallen = maximum(scale * backoff_factor, min_scale)
        return updates, LossScale(
            kept,
            where(finite, grown, fallen),
            where(logical_and(finite, good < growth_interval), good, 0),
            as_value(state.skipped, finite) + where(finite, 0, 1),
        )

    return Transform(init, update, _rate_of(inner))


def _rate_of(inner: Transform) -> Any:
    rate = inner.rate
    return None if rate is None else lambda state: rate(state.inner)


def _divided(gradient: Any, scale: Any) -> Any:
    """In float32 or wider: its own type might hold neither the scale nor what is left."""
    wide = widened(gradient)
    return wide / scale.astype(wide.dtype)


def _update_if(
    holds: Any, inner: Transform, grads: Tree, state: Tree, params: Tree
) -> tuple[Tree, Tree]:
    """The transform's updates and state, or zeros and the state as it was."""
    updates, new = inner.update(grads, state, params)
    return (
        pytrees.map_leaves(lambda u: where(holds, as_value(u, holds), 0.0), updates),
        zip_leaves(lambda n, old: where(holds, as_value(n, holds), as_value(old, holds)), new, state),
    )
