# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of the compiler, of which a Ctrl-C does not wait for the end."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

OnStage = Callable[[str], None]


def interruptible(call: Callable[[OnStage], Any], on_stage: OnStage = lambda stage: None) -> Any:
    """call(on_stage), in a thread of its own where this is the main one, which alone is told of signals.

    A handler of signals runs at once, wherever the compiler is. Where it raises, KeyboardInterrupt as a rule, that is
    raised here, and the call ends at its next stage, which nobody waits for.
    """
    if threading.current_thread() is not threading.main_thread():
        return call(on_stage)
    work = _Work(call, on_stage)
    work.start()
    try:
        work.ended.wait()
    except BaseException:
        work.leave()
        raise
    if work.error is not None:
        raise work.error
    return work.result


class _Left(BaseException):
    """Ends a call that nobody waits for."""


class _Work(threading.Thread):
    """A call, and what came of it."""

    def __init__(self, call: Callable[[OnStage], Any], on_stage: OnStage):
        super().__init__(name="shoal-compile", daemon=True)
        self.ended = threading.Event()
        self.result: Any = None
        self.error: BaseException | None = None
        self._call = call
        self._on_stage = on_stage
        self._is_left = False

    def run(self) -> None:
        try:
            self.result = self._call(self._look)
        except BaseException as error:  # pylint: disable=broad-exception-caught
            self.error = error  # who waits raises it
        finally:
            self.ended.set()

    def _look(self, stage: str) -> None:
        if self._is_left:
            raise _Left
        self._on_stage(stage)

    def leave(self) -> None:
        self._is_left = True
        _left.append(self)


# Calls that may not have ended yet.
_left: list[_Work] = []


def _end_left() -> None:
    """The compiler's own data must not go while it works. Who has pressed Ctrl-C does not wait for it: the process ends
    as it would then, by the signal, with nothing left to do but that."""
    alive = [work for work in _left if work.is_alive()]
    if alive and getattr(sys, "last_type", None) is KeyboardInterrupt:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    for work in alive:
        work.join()


# Before others are: so it comes behind them.
atexit.register(_end_left)
