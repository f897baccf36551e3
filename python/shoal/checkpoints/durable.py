# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that are on the disk when a function returns."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

_ATONCE = 1 << 30  # bytes; the kernel writes no 2 GiB in one call


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Errors of the system that name no file name this one."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            raise type(error)(error.errno, error.strerror, os.fspath(path)) from error
        raise


def sync_folder(path: Path) -> None:
    """The names in it are on the disk."""
    with naming(path):
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def make_folder(path: Path) -> list[Path]:
    """Makes it and those above it, where they are not there. Returns the folders that have new
    names, which are on the disk when these are synced."""
    made = []
    while not path.is_dir():
        made.append(path)
        path = path.parent
    for folder in reversed(made):
        with naming(folder):
            folder.mkdir(exist_ok=True)
    return [folder.parent for folder in reversed(made)]


def write_at(descriptor: int, data: bytes | np.ndarray, offset: int) -> None:
    """All of an array of bytes, also where the kernel takes less at once."""
    view = memoryview(data)
    while view.nbytes:
        written = os.pwrite(descriptor, view[:_ATONCE], offset)
        view, offset = view[written:], offset + written


def replace(path: Path, content: bytes) -> None:
    """The file has this content, or what it had: nothing in between, whenever the machine stops."""
    beside = path.with_name(f"{path.name}.new")
    with naming(beside):
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
        try:
            write_at(descriptor, content, 0)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.rename(beside, path)
    sync_folder(path.parent)
