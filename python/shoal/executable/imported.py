# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a program that was imported tells of itself, whoever calls it."""

from __future__ import annotations

from typing import Any

from shoal.executable.executable import Executable
from shoal.executable.session import Session

__all__ = ["ImportedProgram"]


class ImportedProgram:
    """A function or module of another library, compiled for the devices of its mesh.

    executable: the program itself, to save, and to run with a time limit.
    """

    def __init__(self, executable: Executable):
        self.executable = executable

    def open(self, comm: Any = None) -> Session:
        """The program in this process of an MPI job; see Executable.open."""
        return self.executable.open(comm)

    def save(self, path: Any) -> None:
        """Writes it to one file, for `shoal.load`."""
        self.executable.save(path)

    @property
    def devices(self) -> int:
        """How many processes run it."""
        return self.executable.devices

    @property
    def text(self) -> str:
        """The imported program, in Shoal MLIR."""
        return self.executable.text

    @property
    def stats(self) -> dict[str, Any]:
        """Collectives, bytes sent, memory and flops of one device."""
        return self.executable.stats

    def spmd(self) -> str:
        """The program of one device, in MLIR."""
        return self.executable.spmd()

    def summary(self) -> str:
        """Inputs and outputs, collectives with their reasons, the largest buffers; see Executable.summary."""
        return self.executable.summary()

    def _repr_html_(self) -> str:
        return self.executable._repr_html_()

    def report(self, *arguments: Any, **keywords: Any) -> Any:
        """A page that shows the partitioned program; see Executable.report."""
        return self.executable.report(*arguments, **keywords)

    def __repr__(self) -> str:
        return repr(self.executable)
