# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A node that is imported, as its importer sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from shoal.frontend.broadcasting import as_operand
from shoal.frontend.conversion import convert
from shoal.frontend.value import Value
from shoal.torch.graph import Graph, Node, Type
from shoal.torch.settings import Settings


class _NotMade:
    def __repr__(self) -> str:
        return "a result that its importer does not make"


NOT_MADE = _NotMade()
"""In the place of a result that importers do not make: who reads it is refused."""


class GraphImporter(Protocol):
    """What an op needs of who imports its graph."""

    settings: Settings
    summands: dict[Value, Value]

    def next_key(self) -> Value: ...

    def run(self, graph: Graph, values: Mapping[str, Any]) -> list[Any]: ...


def of_two(function: Callable[[Any, Any], Value]) -> Callable[..., Value]:
    """An importer of ops of two operands, which are converted to the result's type."""

    def importer(op: Op, self: Any, other: Any) -> Value:
        return function(*op.cast(self, other))

    return importer


class Op:
    """A node that is imported: what importers ask for beside its arguments."""

    def __init__(self, importer: GraphImporter, node: Node, is_complex: bool = False):
        """is_complex: the result is, of halves that have the type that the node says."""
        self._importer = importer
        self.node = node
        self.is_complex = is_complex

    @property
    def settings(self) -> Settings:
        """What the caller says beside the graph."""
        return self._importer.settings

    @property
    def types(self) -> list[Type]:
        """Those of the results."""
        return [result.type for result in self.node.results if result.type is not None]

    @property
    def type(self) -> Type:
        """That of the one result, or of the first."""
        return self.types[0]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape

    @property
    def dtype(self) -> np.dtype:
        return self.type.dtype

    def cast(self, *operands: Any, dtype: np.dtype | None = None) -> list[Any]:
        """Values converted to the result's type, or to `dtype`; numbers, which have none, as they are."""
        to = self.dtype if dtype is None else dtype
        return [convert(x, to) if isinstance(x, Value) else x for x in operands]

    def value(self, operand: Any, shape: Sequence[int] = (), dtype: np.dtype | None = None) -> Value:
        """A value converted to the result's type, or to `dtype`; of a number a constant of that shape."""
        to = self.dtype if dtype is None else dtype
        return convert(operand, to) if isinstance(operand, Value) else as_operand(operand, shape, to)

    def key(self) -> Value:
        """A key for what this op draws: of the program's seed and the op's number among those that draw."""
        return self._importer.next_key()

    @property
    def summands(self) -> dict[Value, Value]:
        """By cumulative sums what they were made of."""
        return self._importer.summands

    def call(self, graph: Graph, values: Sequence[Value]) -> list[Any]:
        """The results of a graph that the op holds, for these inputs."""
        names = [given.value for given in graph.inputs if given.type is not None]
        return self._importer.run(graph, dict(zip(names, values, strict=True)))
