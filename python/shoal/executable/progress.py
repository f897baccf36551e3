# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a long compilation is at, on stderr: on a terminal, in a notebook, in a log file."""

from __future__ import annotations

import sys
import threading
import time
from typing import TextIO

DELAY = 1.0  # seconds; what is quicker than that says nothing
LOG_DELAY = 10.0  # between the lines of a log file


class Progress:
    """Call it with each stage's name; it shows the current one while the block lasts.

    A terminal and a notebook have one line, that of the second; the former's is gone at the end. Where stderr is
    neither, as in a batch job, there is a line each ten seconds, and where there was one, another at the end.
    """

    def __init__(self, what: str):
        self._what = what
        self._stage = ""
        self._start = time.monotonic()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def __call__(self, stage: str) -> None:
        self._stage = stage

    def __enter__(self) -> Progress:
        # Of now: a thread's print goes where stderr is when it is called.
        stream = sys.stderr
        if stream is not None and not stream.closed:
            show = self._show_lines if not _rewrites(stream) else self._show_line
            self._thread = threading.Thread(target=show, args=[stream], daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        if self._thread:
            self._thread.join()

    def _seconds(self) -> float:
        return time.monotonic() - self._start

    def _text(self) -> str:
        return f"shoal: compiling {self._what}: {self._stage} ({self._seconds():.0f} s)"

    def _end_text(self) -> str:
        return f"shoal: compiling {self._what} took {self._seconds():.0f} s"

    def _show_line(self, stream: TextIO) -> None:
        """One, which is written over: to its begin, and clear or cover what was there."""
        clear = "\r\x1b[K" if stream.isatty() else "\r"
        width = 0
        while not self._ended.wait(DELAY):
            text = self._text()
            width = max(width, len(text))
            print(f"{clear}{text:<{width}}" if clear == "\r" else clear + text, end="", file=stream, flush=True)
        if width:
            last = clear if stream.isatty() else f"\r{self._end_text():<{width}}\n"
            print(last, end="", file=stream, flush=True)

    def _show_lines(self, stream: TextIO) -> None:
        is_shown = False
        while not self._ended.wait(LOG_DELAY):
            print(self._text(), file=stream, flush=True)
            is_shown = True
        if is_shown:
            print(self._end_text(), file=stream, flush=True)


def _rewrites(stream: TextIO) -> bool:
    """Whether what follows a carriage return stands in the place of the line before it."""
    return stream.isatty() or type(stream).__module__.startswith("ipykernel.")
