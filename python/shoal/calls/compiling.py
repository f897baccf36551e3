# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles what frontends write, once for all ranks of an MPI job."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Mapping
from typing import Any

from shoal.calls.frontend import Source
from shoal.devices import Devices, Job
from shoal.errors import RunError, ShoalError, TraceTypeError
from shoal.executable import CompileOptions, Executable, compile_text
from shoal.executable.executable import from_bytes
from shoal.executable.leaving import waiting
from shoal.names import nearest


def check_options(options: Mapping[str, Any]) -> None:
    """TraceTypeError for an option that neither jit nor the compiler has: where it is written."""
    known = {field.name for field in dataclasses.fields(CompileOptions)}
    for name in options:
        if name not in known:
            raise TraceTypeError(f"jit() got an unexpected keyword argument {name!r}{nearest(name, known)}")
    CompileOptions(**options)


def compile_for(devices: Devices, source: Source, options: Mapping[str, Any]) -> Executable:
    """The program for these devices; collective where they are ranks of a job.

    Raises CompileError, in a job on every rank.
    """
    if not isinstance(devices, Job):
        try:
            return _compile(source, options, links_program=False)
        except ShoalError as error:
            # Frames within the compiler say nothing of the program.
            raise error.with_traceback(None)
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
    devices.turn.expect_no_step()  # or the ranks would wait for this one
    with waiting(devices.comm):
        sent, first = devices.comm.bcast((sent, source.text))
        problems = devices.comm.allgather(_compare(devices.rank, source, first))
    if isinstance(sent, ShoalError):
        raise sent
    for problem in problems:
        if problem:
            raise RunError(problem)
    return made or from_bytes(
        sent, structure=source.structure, host_functions=source.host_functions
    )


def _compare(rank: int, source: Source, first: str) -> str | None:
    """What is wrong where this rank's program is not that of rank 0; its files may lie elsewhere."""
    for mine, theirs in itertools.zip_longest(source.text.splitlines(), first.splitlines()):
        if mine != theirs and _without_folders(mine) != _without_folders(theirs):
            own, other = ((line or "").strip()[:200] for line in (mine, theirs))
            return f"{source.name}: rank {rank} has another program than rank 0: {own} instead of {other}"
    return None


def _without_folders(line: str | None) -> str | None:
    return line and re.sub(r'"[^"]*/([^"/]*":\d+:\d+)', r'"\1', line)


def _compile(source: Source, options: Mapping[str, Any], *, links_program: bool) -> Executable:
    return compile_text(
        source.text,
        source=source.name,
        structure=source.structure,
        host_functions=source.host_functions,
        links_program=links_program,
        **options,
    )
