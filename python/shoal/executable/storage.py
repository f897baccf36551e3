# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files and folders that are there whole, or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
import weakref
from pathlib import Path
from types import TracebackType


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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._remove()


def _remove_as(owner: int, folder: Path) -> None:
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


def replace_file(path: str | Path, content: bytes) -> None:
    """Writes a file; where that fails, what was there is as it was. OSError.

    A link stays one: its target is replaced. What is no file, as a pipe or a
    device, is written into.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        target.write_bytes(content)
        return
    # The name is short, whatever the target's.
    temporary = target.with_name(f".shoal-{secrets.token_hex(8)}")
    try:
        with open(temporary, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
