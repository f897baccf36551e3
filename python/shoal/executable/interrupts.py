# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ctrl-C in threads that Python does not tell of it."""

from __future__ import annotations

import shutil
import signal
import subprocess
import threading


class CtrlCWatch:
    """Says within the block whether a terminal's Ctrl-C came, in threads but the main one.

    Python raises KeyboardInterrupt in the main thread alone, which often waits
    for this one. But the terminal signals every process of this one's group: a
    `cat` among them, which waits for nothing, ends by it.
    """

    def __init__(self) -> None:
        self._cat: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> CtrlCWatch:
        command = shutil.which("cat")
        if command and threading.current_thread() is not threading.main_thread():
            # Its input ends with this process, however that ends.
            self._cat = subprocess.Popen(
                [command], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
            )
        return self

    @property
    def came(self) -> bool:
        return self._cat is not None and self._cat.poll() == -signal.SIGINT

    def __exit__(self, *error: object) -> None:
        if self._cat is not None:
            self._cat.communicate()
