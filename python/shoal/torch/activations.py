# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where values lie that modules return, by the modules' paths."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from typing import Any

from shoal.errors import TraceError, TraceTypeError
from shoal.frontend.annotations import constrain
from shoal.frontend.value import Value
from shoal.names import nearest
from shoal.torch.graph import Graph, Node, Ref
from shoal.torch.importer import Hooks
from shoal.torch.shardings import expanded, is_spec


class Activations(Hooks):
    """Constrains what modules return.

    A module returns what was made in it and is read behind it. specs: globs over module paths to P(...), for results
    of that many dimensions; the last that matches counts. TraceError for a glob that matches no module.
    """

    def __init__(self, graph: Graph, specs: Mapping[str, Any]):
        self._of_value: dict[str, Any] = {}
        makers = {result.name: node.place.module for node in graph.nodes for result in node.results}
        modules = _with_parents(set(makers.values()))
        readers = _readers(graph)
        for glob, spec in specs.items():
            if not is_spec(spec) or spec is None:
                raise TraceTypeError(f'activations: "{glob}": expected shoal.P(...) or a Sharding, got {spec!r}')
            chosen = [path for path in modules if any(fnmatch.fnmatchcase(path, one) for one in expanded(glob))]
            if not chosen:
                raise TraceError(f'activations: "{glob}" matches none of {len(modules)} modules{nearest(glob, modules)}')
            for name, maker in makers.items():
                if any(_is_within(maker, path) and not _all_within(readers.get(name, ()), path) for path in chosen):
                    self._of_value[name] = spec

    def made(self, node: Node, value: Value) -> Value:
        spec = next((self._of_value[r.name] for r in node.results if r.name in self._of_value), None)
        return value if spec is None else constrain(value, spec)


def _with_parents(paths: set[str]) -> list[str]:
    found = set()
    for path in paths:
        parts = path.split(".")
        found.update(".".join(parts[:count]) for count in range(1, len(parts) + 1))
    return sorted(found - {""})


def _readers(graph: Graph) -> dict[str, list[str]]:
    """The modules that read each value; "" of the program's results."""
    readers: dict[str, list[str]] = {}

    def note(argument: Any, module: str) -> None:
        if isinstance(argument, Ref):
            readers.setdefault(argument.name, []).append(module)
        elif isinstance(argument, (tuple, list)):
            for entry in argument:
                note(entry, module)

    for node in graph.nodes:
        for argument in node.args.values():
            note(argument, node.place.module)
    for output in graph.outputs:
        note(output.value, "")
    return readers


def _is_within(module: str, path: str) -> bool:
    return module == path or module.startswith(f"{path}.")


def _all_within(modules: Any, path: str) -> bool:
    return all(_is_within(module, path) for module in modules)
