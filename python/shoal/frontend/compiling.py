# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a Python function to an executable."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import optree

from shoal.errors import InputError
from shoal.executable import CallStructure, Executable, compile_text
from shoal.frontend import pytrees
from shoal.frontend.tracing import Program, trace_program
from shoal.mesh import Mesh

__all__ = ["compile"]


def compile(
    function: Callable[..., Any],
    args: Sequence[Any] | Mapping[str, Any],
    mesh: Mesh | None = None,
    target: str = "cpu",
    *,
    in_shardings: Any = None,
    out_shardings: Any = None,
    name: str | None = None,
    **options: Any,
) -> Executable:
    """Traces and compiles a function for the devices of a mesh, one without it.

    function, args, mesh, in_shardings, out_shardings, name: see `trace`.
    target: "cpu" or "cuda". options: fields of CompileOptions.

    The executable's `run` takes what has the structure of `args`, or arrays by
    the arguments' names, and gives what has the structure of the function's
    result. Raises TraceError and CompileError, both with the user's line.
    """
    program = trace_program(
        function, args, mesh, in_shardings=in_shardings, out_shardings=out_shardings, name=name
    )
    structure = TracedCall(program)
    return compile_text(
        program.text, target, source=f"<{program.name}>", structure=structure, **options
    )


class TracedCall(CallStructure):
    """The trees of a traced function's arguments and result, also of optree's own kinds."""

    def __init__(self, program: Program):
        super().__init__(_portable(program.in_tree), _portable(program.out_tree))
        self._in_tree, self._out_tree = program.in_tree, program.out_tree

    def flatten(self, inputs: Any) -> Any:
        if isinstance(inputs, Mapping) and self._in_tree.type in (tuple, list):
            return inputs  # arrays by name
        if isinstance(inputs, list) and self._in_tree.type is tuple:
            inputs = tuple(inputs)
        leaves, tree = pytrees.flatten(inputs)
        if tree != self._in_tree:
            raise InputError(
                f"inputs: expected {pytrees.describe(self._in_tree)}, "
                f"got {pytrees.describe(tree)} (each * is an array)"
            )
        return leaves

    def unflatten(self, outputs: Sequence[Any]) -> Any:
        return pytrees.unflatten(self._out_tree, outputs)


def _portable(tree: optree.PyTreeSpec) -> Any:
    """As files hold it: kinds of trees that only optree knows become tuples."""
    if tree.is_leaf() or tree.type is None:
        return "*"
    if tree.type is type(None):
        return None
    children = [_portable(child) for child in tree.children()]
    if issubclass(tree.type, Mapping):
        return {"dict": {str(key): child for key, child in zip(tree.entries(), children)}}
    return {"list" if issubclass(tree.type, list) else "tuple": children}
