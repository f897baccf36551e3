# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules that backward passes compute again."""

from __future__ import annotations

from shoal.frontend.remat import remat
from shoal.frontend.value import Value
from shoal.torch.graph import Graph
from shoal.torch.op import Op
from shoal.torch.registry import imports


@imports("shoal.segment")
def segment(op: Op, operands: list[Value], graph: Graph, policy: str) -> list[Value]:
    return remat(lambda *values: op.call(graph, values), policy=policy)(*operands)
