# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a call's arguments to a program's inputs, and from its results to what the module returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from shoal.devices import Array
from shoal.errors import InputError
from shoal.torch.graph import Graph, Ref
from shoal.torch.programs import SEED
from shoal.torch.tensors import overwrite

Result = Any


class Call:
    """How calls of a graph nest.

    rebuild: what makes the module's own result of its leaves, as a ModelOutput; None: tuples, lists and dicts.
    """

    def __init__(self, graph: Graph, rebuild: Callable[[Sequence[Any]], Any] | None = None):
        self.graph = graph
        self._rebuild = rebuild
        self._users = [given for given in graph.inputs if given.kind == "user"]
        self._outputs = [output for output in graph.outputs if output.kind == "user"]
        self._constants = {given.value: given.constant for given in graph.inputs if given.type is None}

    def arguments(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The tensors of a call by the names of inputs; InputError where they nest otherwise, or a constant is another."""
        try:
            leaves = self.graph.in_tree.flatten((tuple(args), dict(kwargs)))
        except ValueError as error:
            raise InputError(f"{self.graph.name}: the call's arguments: {error}") from None
        arguments = {}
        for given, leaf in zip(self._users, leaves, strict=True):
            if given.type is not None:
                arguments[given.name] = leaf
            elif leaf != given.constant:
                raise InputError(f'argument "{given.name}": the program is for {given.constant!r} and not for {leaf!r}')
        return arguments

    def result(self, values: Mapping[str, Any]) -> Result:
        """What the module returns, of results by their names."""
        leaves = [self._leaf(output.name, output.value, values) for output in self._outputs]
        if self._rebuild is not None:
            return self._rebuild(leaves)
        return self.graph.out_tree.build(iter(leaves))

    def _leaf(self, name: str, value: Any, values: Mapping[str, Any]) -> Any:
        if not isinstance(value, Ref):
            return value
        return self._constants[value.name] if value.name in self._constants else values[name]

    @property
    def written(self) -> list[str]:
        """The names of the buffers that the module writes over."""
        return [output.name for output in self.graph.outputs if output.kind == "buffer"]

    def write_back(self, arguments: Mapping[str, Any], results: Mapping[str, Any]) -> None:
        """Writes over the caller's tensors and arrays as the module does, with results by their names."""
        for output in self.graph.outputs:
            if output.kind == "input":
                overwrite(arguments[output.name], results[output.name])

    def check_writable(self, arguments: Mapping[str, Any]) -> None:
        """InputError where the module writes over an argument that cannot be: one that lies on devices."""
        for output in self.graph.outputs:
            if output.kind == "input" and isinstance(arguments[output.name], Array):
                raise InputError(f'argument "{output.name}": the module writes over it; expected a tensor, got an Array on devices')

    @property
    def state(self) -> list[str]:
        """The names of parameters, buffers and constants."""
        return [given.name for given in self.graph.inputs if given.kind != "user"]


def seed_of(number: int) -> np.ndarray:
    """What a program that draws reads as "seed": the two words of a number from 0 to 2^64 - 1."""
    if not 0 <= number < 2**64:
        raise InputError(f"{SEED}: {number} is not in 0 ... 2^64 - 1")
    return np.array([number >> 32, number & 0xFFFFFFFF], np.uint32).view(np.int32)
