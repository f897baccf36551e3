# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a Python function to an executable."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from shoal.executable import Executable, compile_text
from shoal.frontend.calls import TracedCall
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
