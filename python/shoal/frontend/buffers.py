# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Leaves of a loss' parameters that are no parameters but its state, as experts' biases are."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from shoal.errors import TraceError

__all__ = ["Buffers", "buffers_of", "check_declared", "step_with"]

Tree = Any


class Buffers(NamedTuple):
    """Which leaves of a loss' parameters are its state, and how a step moves it.

    A step computes with a buffer in the buffer's own type, has no gradient of it, leaves it out of what the
    optimiser updates, and puts the next one in its place.

    mask: from the parameters to a tree of bools like them, true for a buffer.
    update: from (parameters, metrics of the whole batch), in a traced function, to a tree like the parameters
      with the next buffers, of the shapes and types of those before; other leaves are not looked at. None:
      they stay as they are.
    """

    mask: Callable[[Tree], Tree]
    update: Callable[[Tree, Mapping[str, Any]], Tree] | None = None


def buffers_of(loss: Callable[..., Any]) -> Buffers | None:
    """What a loss declares: a method of an object whose `buffers()` makes them, as those of
    `shoal.models`, or a `functools.partial` of one."""
    while isinstance(loss, functools.partial):
        loss = loss.func
    declare = getattr(getattr(loss, "__self__", None), "buffers", None)
    declared = declare() if callable(declare) else None
    return declared if isinstance(declared, Buffers) else None


# Whether the step that is being traced knows of buffers; None outside of one.
_declared: ContextVar[bool | None] = ContextVar("declared", default=None)


@contextmanager
def step_with(buffers: Buffers | None) -> Iterator[None]:
    """While the loss of a training step is traced."""
    token = _declared.set(buffers is not None)
    try:
        yield
    finally:
        _declared.reset(token)


def check_declared(what: str) -> None:
    """TraceError where a step traces a loss that reads a buffer, and takes it for a parameter."""
    if _declared.get() is False:
        raise TraceError(
            f"step: the loss reads {what}, and declares no buffers: the optimiser would decay what it is not to "
            "touch; give step(..., buffers=model.buffers())"
        )
