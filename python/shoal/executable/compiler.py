# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles texts in this process."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from typing import Any

from shoal.errors import CompileWarning, Diagnostic
from shoal.executable.beside import interruptible
from shoal.executable.call_structure import CallStructure
from shoal.executable.executable import Executable
from shoal.executable.host_calls import HostFunction
from shoal.executable.native import native
from shoal.executable.options import CompileOptions
from shoal.executable.progress import Progress
from shoal.executable.signature import Signature
from shoal.executable.storage import TemporaryFolder
from shoal.frames import user_stacklevel


def compile_text(
    text: str,
    target: str = "cpu",
    *,
    source: str = "<program>",
    structure: CallStructure | None = None,
    host_functions: Mapping[int, HostFunction] | None = None,
    links_program: bool = True,
    **options: Any,
) -> Executable:
    """Compiles a program in Shoal MLIR.

    options: fields of CompileOptions.
    source: what messages call the text, where its ops have no locations.
    structure: how the arrays of a call nest; without one `run` takes them by
    order or name and returns a dict by name.
    host_functions: what `shoal.host_call` calls, by number.
    links_program: whether the executable file is made now, beside the library, or
    when it is asked for: for small programs linking takes most of the time.

    Raises CompileError with the compiler's messages; warns CompileWarning. A
    compilation of more than a second shows its stage where stderr is a terminal or
    a notebook, else one of more than ten seconds has a line for each ten. Ctrl-C is
    a KeyboardInterrupt at once; what the compiler is at ends by itself.
    """
    chosen = CompileOptions(target=target, **options)
    folder = TemporaryFolder(prefix="shoal-")
    program, library = folder.path / "program", folder.path / "program.so"
    with Progress(source) as progress:
        compiled = interruptible(
            lambda on_stage: native().compile(
                text,
                chosen.to_native(),
                source,
                executable=str(program) if links_program else "",
                shared=str(library),
                on_stage=on_stage,
            ),
            progress,
        )
    _warn(compiled.diagnostics)
    return Executable(
        text,
        Signature.parse(compiled.description),
        json.loads(compiled.statistics),
        chosen,
        folder,
        source=source,
        structure=structure,
        host_functions=host_functions,
    )


def format_text(
    text: str, *, source: str = "<program>", locations: bool = False, generic: bool = False
) -> str:
    """Parses, verifies and prints a program; CompileError."""
    return native().format(text, source, locations=locations, generic=generic)


def partition_text(
    text: str, *, source: str = "<program>", locations: bool = False, **options: Any
) -> str:
    """The program of one device, which is what every device runs; CompileError."""
    chosen = CompileOptions(**options).to_native()
    return interruptible(
        lambda on_stage: native().partition(
            text, chosen, source, locations=locations, on_stage=on_stage
        )
    )


def statistics_of_text(text: str, *, source: str = "<program>", **options: Any) -> dict[str, Any]:
    """What `shoalc --stats` writes: devices, collectives, bytes, memory; CompileError."""
    chosen = CompileOptions(**options).to_native()
    compiled = interruptible(
        lambda on_stage: native().compile(text, chosen, source, on_stage=on_stage)
    )
    _warn(compiled.diagnostics)
    return json.loads(compiled.statistics)


def _warn(diagnostics: tuple[Diagnostic, ...]) -> None:
    for diagnostic in diagnostics:
        if diagnostic.severity == "warning":
            warnings.warn(str(diagnostic), CompileWarning, stacklevel=user_stacklevel())
