# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Metrics that say how those of the parts of a batch make that of the whole.

A metric of floats is a mean, one of integers or bools a count, unless it says otherwise itself. What it
says is no part of the program: arithmetic drops it, a function within the program hands it on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from shoal.frontend import dtypes, pytrees
from shoal.frontend.constants import as_value
from shoal.frontend.core import ArrayLike
from shoal.frontend.value import Value

__all__ = ["default_kind", "kind_of", "largest", "like", "noting_kinds", "summed"]


class _Marked(Value):
    """A value that says of itself how it is combined, which the one that it was made of does not."""

    __slots__ = ("kind",)

    def __init__(self, value: Value, kind: str):
        super().__init__(value.ir, value.dtype, value.scope)
        self.kind = kind


def summed(metric: ArrayLike) -> Value:
    """A metric whose value of a batch is the sum of its parts': a count, or a total."""
    return _Marked(as_value(metric), "sum")


def largest(metric: ArrayLike) -> Value:
    """A metric whose value of a batch is the largest of its parts'."""
    return _Marked(as_value(metric), "max")


def kind_of(metric: Value) -> str:
    """Which of "sum", "max" and "mean" it is."""
    if isinstance(metric, _Marked):
        return metric.kind
    return default_kind(metric)


def default_kind(metric: Any) -> str:
    """That of one that says nothing of itself, by its type."""
    return "mean" if dtypes.is_float(metric.dtype) else "sum"


def noting_kinds(function: Callable[..., Any], kinds: list[str]) -> Callable[..., Any]:
    """The function, which puts into `kinds` what each leaf of its result is."""

    def called(*args: Any, **kwargs: Any) -> Any:
        made = function(*args, **kwargs)
        kinds[:] = [kind_of(as_value(leaf)) for leaf in pytrees.flatten(made)[0]]
        return made

    return called


def like(made: Sequence[Value], before: Sequence[Value]) -> list[Value]:
    """The values, which say what those say that they are the same as."""
    return [_Marked(new, old.kind) if isinstance(old, _Marked) else new for new, old in zip(made, before)]

