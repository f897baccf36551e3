# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A line on stderr that says what a long compilation is at."""

from __future__ import annotations

import sys
import threading
import time

DELAY = 1.0  # seconds; what is quicker than that says nothing


class Progress:
    """Call it with each stage's name; it shows the current one while the block lasts.

    Shows nothing where stderr is not a terminal.
    """

    def __init__(self, what: str):
        self._what = what
        self._stage = ""
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def __call__(self, stage: str) -> None:
        self._stage = stage

    def __enter__(self) -> Progress:
        if sys.stderr is not None and sys.stderr.isatty():
            self._thread = threading.Thread(target=self._show, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        if self._thread:
            self._thread.join()

    def _show(self) -> None:
        start = time.monotonic()
        is_shown = False
        while not self._ended.wait(DELAY):
            seconds = time.monotonic() - start
            # To the line's begin, and clear what was there.
            print(
                f"\r\x1b[Kshoal: compiling {self._what}: {self._stage} ({seconds:.0f} s)",
                end="",
                file=sys.stderr,
                flush=True,
            )
            is_shown = True
        if is_shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
