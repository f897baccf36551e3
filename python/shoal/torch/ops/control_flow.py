# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Branches, loops, and what stops gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shoal.frontend import control_flow
from shoal.frontend.autodiff import stop_gradient
from shoal.frontend.constants import as_value
from shoal.frontend.value import Value
from shoal.torch.graph import Graph
from shoal.torch.halves import of_each
from shoal.torch.op import Op

from shoal.torch.registry import drops, imports, imports_complex, refuses


@imports("aten.detach.default", "aten.detach_copy.default", halves=True)
def detach(op: Op, self: Value) -> Value:
    return stop_gradient(self)


@imports("higher_order.wrap_with_set_grad_enabled")
@imports_complex("higher_order.wrap_with_set_grad_enabled")
def with_grad(op: Op, arg0: bool, arg1: Graph, **operands: Any) -> list[Any]:
    results = op.call(arg1, list(operands.values()))
    return results if arg0 else [of_each(stop_gradient, result) for result in results]


@imports("higher_order.cond")
def cond(op: Op, arg0: Value, arg1: Graph, arg2: Graph, arg3: Sequence[Value] = ()) -> list[Value]:
    branches = [lambda *values, graph=graph: op.call(graph, values) for graph in (arg1, arg2)]
    pred = as_value(arg0)
    return control_flow.cond(pred.reshape(()) if pred.ndim else pred, *branches, *arg3)


@imports("higher_order.while_loop")
def while_loop(op: Op, arg0: Graph, arg1: Graph, arg2: Sequence[Value], arg3: Sequence[Value] = ()) -> list[Value]:
    others = list(arg3)
    return control_flow.while_loop(
        lambda carry: op.call(arg0, [*carry, *others])[0].reshape(()),
        lambda carry: op.call(arg1, [*carry, *others]),
        list(map(as_value, arg2)),
    )


@imports("higher_order.scan")
def scan(op: Op, arg0: Graph, arg1: Sequence[Value], arg2: Sequence[Value], arg3: Sequence[Value] = ()) -> list[Value]:
    count, others = len(arg1), list(arg3)

    def step(carry: list[Value], rows: list[Value]) -> tuple[list[Value], list[Value]]:
        results = op.call(arg0, [*carry, *rows, *others])
        return results[:count], results[count:]

    last, ys = control_flow.scan(step, list(arg1), list(arg2))
    return [*last, *ys]


drops(
    "aten._assert_tensor_metadata.default", "aten._assert_async.msg", "aten._assert_async.default",
    "aten._assert_scalar.default", "aten.sym_constrain_range_for_size.default", "aten.sym_constrain_range.default",
    reason="it asserts what holds of the program's types, or of numbers, and has no result",
)  # fmt: skip
refuses(
    "higher_order.wrap_with_autocast", reason="a region of autocast; save what shoal.torch.export(module, args) gives"
)
refuses("higher_order.with_effects", reason="an op with effects, whose order counts")
refuses("higher_order.map_impl", "higher_order.associative_scan", reason="write it by torch.scan or without a loop")
