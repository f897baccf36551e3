# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The exceptions of the package; all derive from ShoalError."""

from __future__ import annotations

from dataclasses import dataclass


class ShoalError(Exception):
    """Anything that Shoal refuses; the message says where, which law and the numbers."""


class TraceError(ShoalError, ValueError):
    """A program that cannot be: shapes, an index, an annotation."""


class TraceTypeError(TraceError, TypeError):
    """A value of a type that an operation does not take."""


@dataclass(frozen=True)
class Diagnostic:
    """One message of the compiler.

    severity: "error", "warning", "note" or "remark".
    location: "file:line:column" or "" where there is none.
    name: what the place is called, as JAX names its ops, or "".
    """

    severity: str
    location: str
    message: str
    name: str = ""

    def __str__(self) -> str:
        place = self.location
        if self.name:
            place = f"{place} ({self.name})" if place else self.name
        return f"{place}{': ' if place else ''}{self.severity}: {self.message}"


class CompileWarning(UserWarning):
    """What the compiler warns of."""


class CompileError(ShoalError):
    """The compiler refused a program. `diagnostics` are its messages in their order."""

    def __init__(self, diagnostics: list[Diagnostic] | tuple[Diagnostic, ...] = ()):
        self.diagnostics = tuple(diagnostics)
        super().__init__("\n".join(map(str, self.diagnostics)))

    def __reduce__(self) -> tuple[type[CompileError], tuple[tuple[Diagnostic, ...]]]:
        return CompileError, (self.diagnostics,)


class UnsupportedError(ShoalError):
    """An op of an imported program that Shoal has no counterpart of."""


class InputError(ShoalError, ValueError):
    """An array that does not fit the program: shape, type, name or number."""


class CheckpointError(ShoalError, RuntimeError):
    """A checkpoint that is damaged or not whole: the file, what lies there, who wrote it."""


class CheckpointWarning(UserWarning):
    """A checkpoint that is damaged and was left out for the one before, or has not all arrays of a tree."""


class WeightsWarning(UserWarning):
    """Tensors of a model's files that it is made without: how many, which, and why."""


class MoveWarning(UserWarning):
    """Arrays that each call moves, as the last one has returned them elsewhere than the program reads them."""


class RunError(ShoalError, RuntimeError):
    """A program that failed or did not end. `stderr` is what its processes wrote."""

    def __init__(self, message: str, stderr: str = ""):
        self.stderr = stderr
        super().__init__(message)


class ClosedError(RunError):
    """Devices were closed, on which a program was to run."""

    def __init__(self, message: str = "the devices are closed: shoal.launch starts others"):
        super().__init__(message)
