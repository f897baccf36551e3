# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is closed at the end of a `with` block."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import AbstractContextManager
from typing import Any


class Closing(AbstractContextManager[Any]):
    """Something with a `close`; `with` gives the thing itself and calls that at the end."""

    @abstractmethod
    def close(self) -> None:
        """Ends it; it may be called again."""

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        self.close()
