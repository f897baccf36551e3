# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torch.autograd.Functions: what their backward says is their gradient."""

from __future__ import annotations

from typing import Any

from shoal.frontend.custom_derivatives import custom_vjp
from shoal.frontend.value import Value
from shoal.torch.graph import Graph
from shoal.torch.op import Op
from shoal.torch.refusals import Unsupported
from shoal.torch.registry import imports


@imports("shoal.own_gradient.default")
def own_gradient(op: Op, results: list[Value], inputs: list[Value], residuals: list[Value], backward: Graph, name: str) -> list[Value]:
    """The results, whose gradients by the inputs are those that the graph makes of cotangents and residuals."""

    def forward(results: list[Value], inputs: list[Value], residuals: list[Value]) -> Any:
        return list(results), list(residuals)

    def pull(residuals: list[Value], cotangents: list[Value]) -> tuple[Any, ...]:
        return None, op.call(backward, [*cotangents, *residuals]), None

    function = custom_vjp(lambda results, inputs, residuals: list(results))
    function.defvjp(forward, pull)
    return function(list(results), list(inputs), list(residuals))


@imports("shoal.no_gradient.default")
def no_gradient(op: Op, results: list[Value], name: str, reason: str) -> list[Value]:
    """The results, of which there are no gradients."""
    if op.settings.is_differentiated:
        raise Unsupported(f"torch.autograd.Function {name}: {reason}")
    return list(results)
