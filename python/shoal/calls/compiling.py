# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles what frontends write, once for all ranks of an MPI job."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from shoal.calls.frontend import Source
from shoal.devices import Devices, Job
from shoal.errors import RunError, ShoalError
from shoal.executable import CompileOptions, Executable, compile_text
from shoal.executable.executable import from_bytes


def check_options(options: Mapping[str, Any]) -> None:
    """TypeError for an option that neither jit nor the compiler has: where it is written."""
    known = {field.name for field in dataclasses.fields(CompileOptions)}
    for name in options:
        if name not in known:
            raise TypeError(f"jit() got an unexpected keyword argument {name!r}")
    CompileOptions(**options)


def compile_for(devices: Devices, source: Source, options: Mapping[str, Any]) -> Executable:
    """The program for these devices; collective where they are ranks of a job.

    Raises CompileError, in a job on every rank.
    """
    if not isinstance(devices, Job):
        return _compile(source, options, links_program=False)
    made, sent = None, None
    if devices.rank == 0:
        try:
            made = _compile(source, options, links_program=True)
            sent = made.to_bytes()
        except ShoalError as error:
            sent = error
        except Exception as error:  # pylint: disable=broad-exception-caught
            # The other ranks wait.
            sent = RunError(f"{source.name}: rank 0 could not compile it: {error!r}")
    sent = devices.comm.bcast(sent)
    if isinstance(sent, ShoalError):
        raise sent
    return made or from_bytes(
        sent, structure=source.structure, host_functions=source.host_functions
    )


def _compile(source: Source, options: Mapping[str, Any], *, links_program: bool) -> Executable:
    return compile_text(
        source.text,
        source=source.name,
        structure=source.structure,
        host_functions=source.host_functions,
        links_program=links_program,
        **options,
    )
