# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What devices load."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path

from shoal.executable.host_calls import HostCalls
from shoal.executable.signature import Signature
from shoal.executable.storage import TemporaryFolder


class Program(ABC):
    """A compiled program as devices see it; an `Executable` is one, and may ask devices to run it."""

    @property
    @abstractmethod
    def signature(self) -> Signature:
        """What it takes and gives, with the metadata of shoal/Runtime/ABI.h."""

    @property
    @abstractmethod
    def folder(self) -> TemporaryFolder:
        """What `library` lies in; it is there as long as this object."""

    @property
    @abstractmethod
    def library(self) -> Path:
        """The shared library, see shoal/Runtime/Session.h."""

    @abstractmethod
    def host_calls(self) -> HostCalls | None:
        """Who answers a run's calls; RunError where a function is not there."""

    @property
    def name(self) -> str:
        """The function's."""
        return self.signature.name

    @property
    def devices(self) -> int:
        """How many processes run it."""
        return self.signature.devices
