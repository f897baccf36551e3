# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a backward pass finds saved of the forward pass. Names are JAX's: `remat`, its
other name for `checkpoint`, as checkpoints are files here, and `checkpoint_name`, which has no other.

The program says it by marks; `--shoal-rematerialize` reads them (docs/guide/Rematerialization.md).
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any

from shoal import ir
from shoal.errors import TraceError
from shoal.frontend import metrics, pytrees
from shoal.frontend.checks import check
from shoal.frontend.constants import as_value
from shoal.frontend.core import current, emit, emit_one, is_value, type_of
from shoal.frontend.subfunctions import name_of
from shoal.frontend.value import Value

__all__ = ["checkpoint_name", "remat"]

Tree = Any

_POLICIES = ("everything", "nothing", "dots", "dots_no_batch", "selective", "offload")
_COLLECTIVES = ("save", "params", "repeat")


def remat(
    function: Callable[..., Any],
    *,
    policy: str | Sequence[str] | None = None,
    collectives: str | None = None,
) -> Callable[..., Any]:
    """The function, of which a gradient computes again what it needs and what is not saved.

    policy: what is saved of the values in it: "nothing", which is the default, "everything",
      "dots" (results of products), "dots_no_batch" (of products without a batch dimension),
      "selective" (all but scores and softmax of attention), "offload" (everything, in a memory
      beside the device's, which no target has yet: an error), or a sequence of names that
      `checkpoint_name` gave. Arguments and results are always saved.
    collectives: what is sent again: "save" for nothing, "params" for parameters that devices
      gathered, which are then held by the layer that uses them alone, "repeat" for what costs
      least; by default the program's `remat_collectives`.
    """
    spelled = _spelled(policy)
    if collectives is not None and collectives not in _COLLECTIVES:
        raise TraceError(
            f"remat: expected collectives to be one of {', '.join(_COLLECTIVES)}, "
            f"got {collectives!r}"
        )

    @functools.wraps(function)
    def rematerialized(*args: Any, **kwargs: Any) -> Any:
        number = int(current("remat").builder.fresh().removeprefix("%"))
        args, kwargs = _mark((args, kwargs), number, spelled, collectives)
        result, tree = pytrees.flatten(function(*args, **kwargs))
        what = f"the result of {name_of(function)}"
        return pytrees.unflatten(tree, _mark([as_value(leaf, what=what) for leaf in result], number))

    return rematerialized


_AS_KERNELS: ContextVar[bool] = ContextVar("as_kernels", default=False)


@contextlib.contextmanager
def as_kernels() -> Iterator[None]:
    """While it is open, functions of `one_kernel` are segments of which a backward pass finds the arguments saved."""
    token = _AS_KERNELS.set(True)
    try:
        yield
    finally:
        _AS_KERNELS.reset(token)


def one_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which others have one kernel for, and for its derivative another one that reads its arguments:
    norms, activations. `as_kernels` has it held as they do."""

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        return (remat(function) if _AS_KERNELS.get() else function)(*args, **kwargs)

    return called


def checkpoint_name(tree: Tree, name: str) -> Tree:
    """The values of a tree, which policies know by this name."""
    current("checkpoint_name")
    check(name and "," not in name, f"checkpoint_name: expected a name without commas, got {name!r}")
    leaves, spec = pytrees.flatten(tree)
    return pytrees.unflatten(spec, [_named(as_value(leaf), name) for leaf in leaves])


def _named(value: Value, name: str) -> Value:
    attributes = {"label": ir.quoted(name)}
    return emit_one("shoal.checkpoint_name", [value], value.shape, value.dtype, attributes)


def _spelled(policy: str | Sequence[str] | None) -> str:
    if policy is None:
        return "nothing"
    if not isinstance(policy, str):
        check(policy, "remat: policy names no values")
        return "names:" + ",".join(policy)
    if policy not in _POLICIES:
        listed = ", ".join(_POLICIES)
        raise TraceError(
            f"remat: expected the policy to be one of {listed}, or a list of names, "
            f"got {policy!r}"
        )
    return policy


def _mark(
    tree: Tree, region: int, policy: str | None = None, collectives: str | None = None
) -> Tree:
    """The tree with its values at one end of such a function, the first where it has a policy."""
    leaves, spec = pytrees.flatten(tree)
    values = [leaf for leaf in leaves if is_value(leaf)]
    if not values:
        return tree
    words = {"policy": policy, "collectives": collectives}
    attributes = {"region": f"{region} : i64"}
    attributes |= {name: ir.quoted(word) for name, word in words.items() if word}
    types = [type_of(value) for value in values]
    marked = iter(metrics.like(emit("shoal.remat_boundary", values, types, attributes), values))
    return pytrees.unflatten(spec, [next(marked) if is_value(leaf) else leaf for leaf in leaves])
