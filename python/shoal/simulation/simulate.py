# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Simulates a step of a function or a program."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from shoal.calls.lowered import Lowered
from shoal.errors import TraceTypeError
from shoal.executable import CompileOptions, Executable
from shoal.executable.beside import interruptible
from shoal.executable.native import native
from shoal.frontend.tracing import Program, trace_program
from shoal.mesh import Mesh
from shoal.simulation.forecast import Forecast
from shoal.simulation.machines import Machine

__all__ = ["simulate", "simulate_text"]


def simulate(
    program: Callable[..., Any] | Program | Lowered | Executable | str,
    args: Sequence[Any] | Mapping[str, Any] | None = None,
    mesh: Mesh | None = None,
    *,
    machine: Machine | str | os.PathLike[str],
    target: str = "cuda",
    in_shardings: Any = None,
    out_shardings: Any = None,
    **options: Any,
) -> Forecast:
    """How long a step of a program would take on a machine, on what, and what a device would hold. Nothing runs.

    program: a function, with `args`, `mesh` and shardings as `shoal.compile` takes them; or without these what
      `shoal.trace` gives or any text in Shoal MLIR, what `lower` of a jitted function gives, or an `Executable`.
    machine: the name of a shipped machine file, "dgx-h100", a path, or a `Machine`.
    target: what it is compiled for: "cuda" has kernels of GPUs, and collectives beside them. options: fields of
      CompileOptions.

    Times are a model's (docs/internals/Simulation.md), memory is that of the compiled program. TraceError,
    CompileError; InputError for a machine file that is none.
    """
    found = Machine.read(machine)
    if callable(program) and not isinstance(program, (Program, Lowered, Executable)):
        if args is None:
            raise TraceTypeError("simulate: a function needs args, as of shoal.compile")
        program = trace_program(program, args, mesh, in_shardings=in_shardings, out_shardings=out_shardings)
    elif args is not None or mesh is not None or in_shardings is not None or out_shardings is not None:
        raise TraceTypeError("simulate: args, mesh and shardings are of a function; a program has its own")
    text, source = _text_of(program)
    return simulate_text(text, found, source=source, target=target, **options)


def _text_of(program: Any) -> tuple[str, str]:
    if isinstance(program, str):
        return program, "<program>"
    if isinstance(program, Program):
        return program.text, f"<{program.name}>"
    if isinstance(program, Lowered):
        return program.as_text(), "<lowered>"
    if isinstance(program, Executable):
        return program.text, "<executable>"
    raise TraceTypeError(f"simulate: expected a function, a program or its text, got {type(program).__name__}")


def simulate_text(
    text: str, machine: Machine, /, *, source: str = "<program>", verify_each: bool = True, **options: Any
) -> Forecast:
    """`simulate` of a text in Shoal MLIR. verify_each: verifies the program behind each pass, else behind each pipeline:
    who simulates many needs a fifth less."""
    chosen = CompileOptions(**options).to_native()
    chosen.verify_each = verify_each
    chosen.machine_path = machine.path
    made = interruptible(lambda on_stage: native().simulate(text, chosen, source, on_stage=on_stage))
    return Forecast.of(json.loads(made.forecast), machine)
