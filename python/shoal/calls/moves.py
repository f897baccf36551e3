# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls that move in each turn of a loop what the last one has returned."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Sequence
from typing import Any

from shoal.devices import Array, Loaded
from shoal.errors import MoveWarning
from shoal.frames import user_stacklevel

_FEW = 6  # names in the warning


class Moves:
    """Looks at a function's calls from the first one on that moves an array, and warns once.

    Which arrays a call has returned is remembered until the next one, so that loops without moves pay nothing.
    """

    def __init__(self) -> None:
        self.is_watching = False
        self._has_warned = False
        self._returned: list[weakref.ref[Array]] = []

    def look(self, loaded: Loaded, values: Sequence[Any], results: Sequence[Array]) -> None:
        """Behind a call."""
        if self._has_warned:
            return
        returned = {id(array) for array in (known() for known in self._returned) if array is not None}
        names = [loaded.input_name(number) for number in loaded.moved if id(values[number]) in returned]
        if names:
            self._warn(loaded.name, names)
        self.is_watching = not self._has_warned
        self._returned = [weakref.ref(array) for array in results] if self.is_watching else []

    def _warn(self, function: str, names: Sequence[str]) -> None:
        self._has_warned = True
        rest = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
        arrays = "an array" if len(names) == 1 else f"{len(names)} arrays"
        warnings.warn(
            f"{function}: each call moves {arrays} that the last one has returned elsewhere than it reads them: "
            f"{', '.join(names[:_FEW])}{rest}; give these the same sharding in in_shardings and out_shardings",
            MoveWarning,
            stacklevel=user_stacklevel(),
        )
