# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Folders that go away with who has them."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from pathlib import Path


class TemporaryFolder:
    """A folder that goes away with this object.

    Only the process that made it removes it: a child of os.fork has this object,
    too, but the folder stays its parent's.
    """

    def __init__(self, prefix: str):
        self.path = Path(tempfile.mkdtemp(prefix=prefix))
        self._remove = weakref.finalize(self, _remove_as, os.getpid(), self.path)

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *error: object) -> None:
        self._remove()


def _remove_as(owner: int, folder: Path) -> None:
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)
