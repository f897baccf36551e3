# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls without bodies, which stand for what is not in a layer's program.

Attention is one kernel, which holds no scores: what those who train large models call. Shoal's own is products and a
softmax; a plan may ask for a kernel in their place, whose bytes the simulation sees and whose operations
`shoal.planning.attention_flops` knows. A loss stands for all layers behind one, between its forward and its backward pass.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from shoal.frontend.annotations import P, constrain
from shoal.frontend.custom_call import custom_call
from shoal.frontend.custom_derivatives import custom_vjp
from shoal.frontend.naming import named_scope
from shoal.frontend.tracing import TensorSpec
from shoal.frontend.value import Value
from shoal.models import scores
from shoal.models.scores import Rule

__all__ = ["FORWARD", "BACKWARD", "LOSS", "as_one_kernel", "loss_of", "placed"]

FORWARD, BACKWARD, LOSS = "attention_forward", "attention_backward", "loss"

# Letters as of `shoal.models.scores`. Keys and values are whole along T, queries may be parts.
_FORWARD_RULE = "bskrd,btkd,btkh->bskrh,bskr"
_QUERIES_RULE = "bskrd,btkd,btkh,bskrh,bskr->bskrd"
_KEYS_RULE = "bskrd,btkd,btkh,bskrh,bskr->btkd,btkh"


def _like(value: Value) -> TensorSpec:
    return TensorSpec(value.shape, value.dtype)


def _call(q: Value, k: Value, v: Value) -> tuple[Value, Value]:
    """The result, and for the backward pass the logarithm of each row's sum."""
    shape = (*q.shape[:4], v.shape[3])
    results = [TensorSpec(shape, v.dtype), TensorSpec(q.shape[:4], "float32")]
    made, rows = custom_call(FORWARD, [q, k, v], results, rule=_FORWARD_RULE)
    return made, rows


@custom_vjp
def _attend(q: Value, k: Value, v: Value) -> Value:
    return _call(q, k, v)[0]


def _forward(q: Value, k: Value, v: Value) -> tuple[Value, tuple[Value, ...]]:
    made, rows = _call(q, k, v)
    return made, (q, k, v, rows)


def _backward(saved: tuple[Value, ...], cotangent: Value) -> tuple[Value, ...]:
    q, k, v, rows = saved
    operands = [q, k, v, cotangent, rows]
    (of_queries,) = custom_call(BACKWARD, operands, [_like(q)], rule=_QUERIES_RULE)
    # Where queries lie in parts, keys have sums of them.
    of_keys = custom_call(BACKWARD, operands, [_like(k), _like(v)], rule=_KEYS_RULE, sums="sr")
    return of_queries, *of_keys


_attend.defvjp(_forward, _backward)


def _one_kernel(q: Value, k: Value, v: Value, rule: Rule) -> Value:
    return _attend(q, k, v)


def placed(value: Value, there: P, cotangent: P) -> Value:
    """The value where it is to lie, and its cotangent where that is."""

    @custom_vjp
    def itself(value: Value) -> Value:
        return constrain(value, there)

    itself.defvjp(lambda value: (constrain(value, there), ()), lambda _, given: (constrain(given, cotangent),))
    return itself(value)


def loss_of(y: Value) -> Value:
    """The cotangent of a layer's result [B, S, M], of which nothing else is known."""
    with named_scope(LOSS):
        (dy,) = custom_call(LOSS, [y], [_like(y)], rule="bsm->bsm")
    return dy


@contextlib.contextmanager
def as_one_kernel() -> Iterator[None]:
    """While it is open, models' attention is traced as one kernel."""
    with scores.computed_by(_one_kernel):
        yield
