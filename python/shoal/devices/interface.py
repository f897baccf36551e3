# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Devices that stay: what can be asked of them, whoever runs them."""

from __future__ import annotations

import weakref
from abc import abstractmethod

from shoal.closing import Closing
from shoal.devices.loaded import Loaded
from shoal.devices.memory import Memory
from shoal.devices.store import Store
from shoal.errors import InputError
from shoal.executable.program import Program


class Devices(Store, Closing):
    """Devices that run programs on arrays that stay with them."""

    def __init__(self, count: int, memory: Memory, ranks: range):
        super().__init__(count, memory, ranks)
        self._loaded: weakref.WeakKeyDictionary[Program, Loaded] = weakref.WeakKeyDictionary()

    def __call__(self) -> set[int]:
        """The devices' numbers: array.devices() is a set, as of JAX's arrays."""
        return set(range(self.count))

    def load(self, executable: Program) -> Loaded:
        """The program on these devices, where it stays as long as either object does."""
        if not isinstance(executable, Program):
            raise InputError(f"expected an Executable but got {type(executable).__name__}")
        self.check_owner()
        with self.turn:
            self.turn.expect_no_step()
            loaded = self._loaded.get(executable)
            if loaded is None:
                if executable.devices != self.count:
                    raise InputError(
                        f"{executable.name} is compiled for {executable.devices} devices, "
                        f"but there are {self.count}"
                    )
                loaded = self._loaded[executable] = self._load(executable)
            return loaded

    @abstractmethod
    def _load(self, executable: Program) -> Loaded: ...

    @abstractmethod
    def close(self) -> None:
        """Ends the programs. Arrays can still be read."""
