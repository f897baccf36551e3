# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a frontend says of a function's calls."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Protocol

from shoal.devices import Array
from shoal.executable import CallStructure
from shoal.executable.host_calls import HostFunction
from shoal.mesh_sharding import MeshSharding


class Frontend(Protocol):
    """One function, with the options of its jit."""

    def flatten(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Hashable, Sequence[Any]] | None:
        """What tells calls apart that may be other programs', and the arrays of a call.

        Of an `Array` the key has its `key`, of others what their type is. None where the call is
        a part of another program, as in a function that is being traced.
        """

    def within(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a call that is a part of another program."""

    def types(self, key: Hashable, arrays: Sequence[Any]) -> Hashable:
        """The key without the placements of arrays: a function is traced once for each."""

    def is_abstract(self, arrays: Sequence[Any]) -> bool:
        """Whether some array has no numbers, so that nothing can run."""

    def conversions(self, arrays: Sequence[Any]) -> Mapping[int, Callable[[Any], Any]]:
        """What makes values of the programs' types of arrays like these, where they are not."""

    def trace(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Traced:
        """The function for arguments of these types."""


class Traced(Protocol):
    """A function for the types of a call's arguments, wherever they lie."""

    @property
    def shapes(self) -> Any:
        """What a call gives, in the frontend's types of abstract arrays."""

    def write(
        self, inputs: Sequence[MeshSharding | None], outputs: Sequence[MeshSharding] | None
    ) -> Source:
        """The program whose arrays lie there, where the function's options do not say it.

        inputs: one for each of the call's arrays, None for those that may lie anywhere.
        outputs: one for each result; None where they may.
        One that no mesh of the program can say is passed over.
        """


@dataclasses.dataclass(frozen=True)
class Source:
    """A program that is written, and what its calls do beside running it.

    name: what messages call it. text: in MLIR. devices: how many it is for.
    structure, host_functions: as of compile_text.
    result: the call's result of the program's.
    kept: which of the call's arrays the program reads, in its order; None: all.
    """

    name: str
    text: str
    devices: int
    structure: CallStructure
    result: Callable[[list[Array]], Any]
    kept: Sequence[int] | None = None
    host_functions: Mapping[int, HostFunction] | None = None
