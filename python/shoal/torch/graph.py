# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program of PyTorch as data: what `from_fx` and `from_pt2` make and importers read.

It has names, numbers and NumPy's types, and no object of torch's: whoever reads a graph needs
no torch. Arguments of an op go by the names that the op's schema has for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Union

import numpy as np

from shoal import ir

# None, bool, int, float, complex, str, np.dtype, Ref, Graph (of a higher-order op), or a list of these.
Argument = Any


@dataclass(frozen=True)
class Ref:
    """A value of the graph, by its name: an input, or a result of a node before."""

    name: str


@dataclass(frozen=True)
class Type:
    """shape: sizes, all of them known. dtype: of the elements."""

    shape: tuple[int, ...]
    dtype: np.dtype

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


@dataclass(frozen=True)
class Place:
    """Where an op was written: a line of Python's, and the module that called it, "model.layers.0.mlp"."""

    file: str = ""
    line: int = 0
    module: str = ""

    @property
    def location(self) -> ir.Location:
        return ir.Location(self.file or "<unknown>", self.line, name=self.module)

    def __str__(self) -> str:
        line = f"{self.file}:{self.line}" if self.file else "an unknown place"
        return f"{line} ({self.module})" if self.module else line


@dataclass(frozen=True)
class Result:
    """One of a node's. type: None of what is no tensor, as a token or an unused gradient's place."""

    name: str
    type: Type | None


@dataclass(frozen=True)
class Node:
    """One op. target: "aten.mm.default". results: also of what are one list of tensors, as of `split`."""

    target: str
    args: Mapping[str, Argument]
    results: tuple[Result, ...]
    place: Place = Place()


InputKind = Literal["parameter", "buffer", "constant", "user"]
OutputKind = Literal["user", "buffer", "input"]


@dataclass(frozen=True)
class Input:
    """kind: what it is to the module. name: that of `state_dict()`, or of the argument of `forward`.

    value: its name in the graph. type: None of an argument that is no tensor; `constant` is then
    what the program was made for. aliases: other names of the same parameter (tied weights).
    """

    kind: InputKind
    name: str
    value: str
    type: Type | None
    constant: Argument = None
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Output:
    """kind: "user" for what the module returns, "buffer" and "input" for what it writes over.

    name: the result's, or that of the buffer or input. value: a Ref, or a constant of Python's.
    """

    kind: OutputKind
    name: str
    value: Argument


@dataclass(frozen=True)
class Tree:
    """How values nest. kind: "leaf", "none", "tuple", "list" or "dict"; keys: those of a dict.

    Classes of others, as transformers' ModelOutput, are dicts by the names of their fields.
    """

    kind: str
    children: tuple[Tree, ...] = ()
    keys: tuple[str, ...] = ()

    @property
    def leaves(self) -> int:
        return 1 if self.kind == "leaf" else sum(child.leaves for child in self.children)

    def paths(self, path: tuple[Union[str, int], ...] = ()) -> Iterator[tuple[Union[str, int], ...]]:
        """The keys and positions that lead to each leaf."""
        if self.kind == "leaf":
            yield path
        for number, child in enumerate(self.children):
            yield from child.paths((*path, self.keys[number] if self.keys else number))

    def build(self, leaves: Iterator[Any]) -> Any:
        """The value of these leaves, in tuples, lists and dicts."""
        if self.kind == "leaf":
            return next(leaves)
        if self.kind == "none":
            return None
        parts = [child.build(leaves) for child in self.children]
        if self.kind == "dict":
            return dict(zip(self.keys, parts))
        return tuple(parts) if self.kind == "tuple" else parts

    def flatten(self, value: Any) -> list[Any]:
        """The leaves of a value that nests so; ValueError of one that does not, with both forms."""
        if self.kind == "leaf":
            return [value]
        if self.kind == "none":
            if value is not None:
                raise ValueError(f"expected None but got {type(value).__name__}")
            return []
        parts = self._parts(value)
        return [leaf for child, part in zip(self.children, parts) for leaf in child.flatten(part)]

    def _parts(self, value: Any) -> Sequence[Any]:
        if self.kind == "dict":
            if not isinstance(value, Mapping) or sorted(value) != sorted(self.keys):
                got = sorted(value) if isinstance(value, Mapping) else type(value).__name__
                raise ValueError(f"expected a dict of {sorted(self.keys)} but got {got}")
            return [value[key] for key in self.keys]
        if not isinstance(value, (tuple, list)) or len(value) != len(self.children):
            got = f"{len(value)}" if isinstance(value, (tuple, list)) else type(value).__name__
            raise ValueError(f"expected a {self.kind} of {len(self.children)} but got {got}")
        return value


LEAF = Tree("leaf")


@dataclass(frozen=True)
class Graph:
    """A module or a function for arguments of some types. All sizes are numbers, and no op writes over a value.

    state: arrays of parameters, buffers and constants by the names of their inputs, as far as they are known.
    in_tree: of (args, kwargs). out_tree: of what the module returns.
    """

    inputs: tuple[Input, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[Output, ...]
    name: str = "main"
    state: Mapping[str, Any] = field(default_factory=dict)
    in_tree: Tree = LEAF
    out_tree: Tree = LEAF


def types_of(graph: Graph) -> dict[str, Type | None]:
    """The types of its inputs and of what its nodes make, by name; of constants and of what is no tensor None."""
    made = {result.name: result.type for node in graph.nodes for result in node.results}
    return made | {given.value: given.type for given in graph.inputs}


def names_in(argument: Any) -> list[str]:
    """The names of all values that an argument of a node, or several, refer to; not those within graphs."""
    if isinstance(argument, Ref):
        return [argument.name]
    entries = argument.values() if isinstance(argument, Mapping) else argument
    return [name for entry in entries for name in names_in(entry)] if isinstance(argument, (tuple, list, Mapping)) else []
