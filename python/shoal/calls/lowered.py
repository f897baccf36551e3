# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A call's program before it is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shoal.calls.frontend import Source
from shoal.executable.compiler import format_text


class Lowered:
    """What `lower` of a function gives. `compile` compiles it, once for all calls of the function."""

    def __init__(self, source: Source, compile: Callable[[], Any]):
        self._source = source
        self._compile = compile

    def as_text(self) -> str:
        """The program, in Shoal MLIR."""
        return format_text(self._source.text, source=self._source.name)

    def compile(self) -> Any:
        """Of `shoal.jit` the `Executable`, of `shoal.jax.jit` the `Compiled`."""
        return self._compile()

    def __repr__(self) -> str:
        return f"<Lowered {self._source.name} for {self._source.devices} devices>"
