# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bytecode from elsewhere, which is read in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from shoal.errors import ShoalError

__all__ = ["text_of"]

READER = Path(__file__).with_name("reader.py")
# What a reader may have: libraries alone take some GiB of addresses, and text is a few times as long as its bytes.
MEMORY, MEMORY_PER_BYTE = 16 << 30, 64
SECONDS, BYTES_PER_SECOND = 5, 1 << 20


def text_of(data: bytes, source: str) -> str:
    """The text of MLIR's bytecode, in generic form with its locations.

    ShoalError, which names `source`, where it cannot be read, or its reader ends or takes longer than bytes of this
    number may.
    """
    seconds = SECONDS + len(data) // BYTES_PER_SECOND
    with tempfile.NamedTemporaryFile(prefix="shoal-") as file:
        file.write(data)
        file.flush()
        read = _run(file.name, MEMORY + MEMORY_PER_BYTE * len(data), seconds)
    if read.returncode == 0:
        return read.stdout.decode("utf-8", "surrogateescape")
    raise ShoalError(f"not a StableHLO program: {source}: {_reason(read, seconds)}")


def _run(file: str, memory: int, seconds: int) -> subprocess.CompletedProcess[bytes]:
    # -I: modules beside the reader have names of others.
    command = [sys.executable, "-I", str(READER), file, str(memory), str(seconds), *filter(None, sys.path)]
    environment = {**os.environ, "MALLOC_ARENA_MAX": "1"}
    return subprocess.run(command, capture_output=True, env=environment, stdin=subprocess.DEVNULL, check=False)


def _reason(read: subprocess.CompletedProcess[bytes], seconds: int) -> str:
    said = read.stderr.decode("utf-8", "replace").strip().splitlines()
    if read.returncode == -signal.SIGXCPU:
        return f"its bytecode is not read in {seconds} s of the processor's time"
    if read.returncode < 0:
        name = signal.Signals(-read.returncode).name
        return f"the reader of its bytecode ends by {name}: bytes are damaged"
    return said[-1] if said else f"the reader of its bytecode ends with status {read.returncode}"
