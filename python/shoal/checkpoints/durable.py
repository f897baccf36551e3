# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Folders and bytes that are on the disk, or on their way there."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from shoal.files import naming

_ATONCE = 1 << 30  # bytes; the kernel writes no 2 GiB in one call


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
