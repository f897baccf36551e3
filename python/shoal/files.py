# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that are whole and on the disk, or as they were."""

from __future__ import annotations

import mmap
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np

from shoal.errors import InputError

# How names of files that are not yet whole begin: they are left where a process is killed.
PARTIAL = ".shoal-"


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Errors of the system that name no file name this one."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            raise type(error)(error.errno, error.strerror, os.fspath(path)) from error
        raise


def expect_whole(array: Any, what: str) -> None:
    """InputError, which names the file, where an array is mapped of one that somebody has cut: to read what it has not
    ends the process."""
    name, base = "a file", array
    while isinstance(base, np.ndarray):
        name = getattr(base, "filename", None) or name
        base = base.base
    if isinstance(base, mmap.mmap) and not base.closed and -1 < _size_of(base) < len(base):
        raise InputError(
            f"{what}: {name} has {_size_of(base)} bytes, and the array mapped of it {len(base)}: it was cut since"
        )


def _size_of(mapped: mmap.mmap) -> int:
    """Of its file; -1 of memory without one."""
    try:
        return mapped.size()
    except (OSError, ValueError):
        return -1


def sync_folder(path: Path) -> None:
    """The names in it are on the disk."""
    with naming(path):
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A new file, which takes the place of what the path has at the end of the block: the path has
    what it had or the whole of what was written, whenever the machine stops. OSError.

    A link stays one: its target is replaced. What is no file, as a pipe or a device, is written
    into.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        with open(target, "wb") as file:
            yield file
        return
    # The name is short, whatever the target's.
    partial = target.with_name(f"{PARTIAL}{secrets.token_hex(8)}")
    try:
        with naming(target):
            with os.fdopen(_new(partial), "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            if target.exists():
                shutil.copymode(target, partial)
            os.rename(partial, target)
    except BaseException:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)


def _new(path: Path) -> int:
    """A file that was not there. FileNotFoundError names the folder that is not there."""
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    except FileNotFoundError as error:
        raise FileNotFoundError(error.errno, error.strerror, os.fspath(path.parent)) from None


def replace_file(path: str | os.PathLike[str], content: bytes) -> None:
    """The same of a content that is there."""
    with replacing(path) as file:
        file.write(content)
