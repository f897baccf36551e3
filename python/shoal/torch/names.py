# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What inputs and results are called: state by `state_dict`, arguments by `forward`, results by their keys."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.torch.graph import Input, Node, Output, Ref, Tree


def result_names(tree: Tree) -> list[str]:
    """"logits" or "past.0" by the keys of a dict, "result0" by positions."""
    names = []
    for path in tree.paths():
        joined = ".".join(map(str, path))
        names.append(joined if path and isinstance(path[0], str) else f"result{joined or 0}")
    return names


@dataclass(frozen=True)
class Inputs:
    """kept: inputs of which no two are the same parameter. first: the kept one's value, by a dropped one's."""

    kept: tuple[Input, ...]
    first: Mapping[str, str]

    def renamed(self, nodes: Sequence[Node]) -> tuple[Node, ...]:
        if not self.first:
            return tuple(nodes)
        return tuple(dataclasses.replace(node, args=self._renamed(dict(node.args))) for node in nodes)

    def renamed_outputs(self, outputs: Sequence[Output]) -> tuple[Output, ...]:
        return tuple(dataclasses.replace(output, value=self._renamed(output.value)) for output in outputs)

    def _renamed(self, argument: Any) -> Any:
        if isinstance(argument, Ref):
            return Ref(self.first.get(argument.name, argument.name))
        if isinstance(argument, dict):
            return {name: self._renamed(entry) for name, entry in argument.items()}
        if isinstance(argument, (tuple, list)):
            return [self._renamed(entry) for entry in argument]
        return argument


def unique_inputs(inputs: Sequence[Input], aliases: Mapping[str, str]) -> Inputs:
    """Tied weights once, under their first name; an argument that has the name of a parameter as "input.name".

    aliases: the first name of the same parameter, by each name.
    """
    kept: dict[str, Input] = {}
    first: dict[str, str] = {}
    state = {given.name for given in inputs if given.kind != "user"}
    for given in inputs:
        name = aliases.get(given.name, given.name) if given.kind == "parameter" else given.name
        if given.kind == "user" and name in state:
            name = f"input.{name}"
        if name in kept:
            first[given.value] = kept[name].value
        else:
            kept[name] = dataclasses.replace(given, name=name)
    others = {name: [other for other, one in aliases.items() if one == name != other] for name in kept}
    return Inputs(
        tuple(dataclasses.replace(given, aliases=tuple(others[name])) for name, given in kept.items()), first
    )


def unique_outputs(outputs: Sequence[Output]) -> list[Output]:
    """A result that has the name of what is written over as "result.name"."""
    written = {output.name for output in outputs if output.kind != "user"}
    return [
        dataclasses.replace(output, name=f"result.{output.name}")
        if output.kind == "user" and output.name in written
        else output
        for output in outputs
    ]
