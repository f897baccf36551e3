# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Batches one after the other, read ahead by a thread."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any

from shoal.closing import Closing

Tree = Any


class Reader(Closing, Iterator[Tree]):
    """Batches from a sample on.

    position: how many samples lie before the batch that comes next: what there is to save of it.
    """

    def __init__(
        self,
        read: Callable[[int], Any],
        finish: Callable[[Any], Tree],
        begin: int,
        end: int | None,
        size: int,
        ahead: int,
    ):
        """read: in the thread, by a batch's first sample. finish: in the caller's. end: None: never.

        size: samples of a batch. ahead: how many batches the thread has read at most; 0: without a
        thread.
        """
        self.position = begin
        self._read = read
        self._finish = finish
        self._size = size
        # Behind the last whole batch.
        self._end = None if end is None else end - (end - begin) % size
        self._ahead = _Ahead(read, begin, self._end, size, ahead) if ahead else None

    def __next__(self) -> Tree:
        if self.position == self._end:
            self.close()
            raise StopIteration
        rows = self._ahead.next() if self._ahead else self._read(self.position)
        self.position += self._size
        return self._finish(rows)

    def close(self) -> None:
        """Ends the thread, when it has read what it is reading."""
        if self._ahead:
            self._ahead.stop()

    def __del__(self) -> None:
        self.close()


class _Ahead:
    """A thread that reads batches and waits where enough are read."""

    def __init__(
        self, read: Callable[[int], Any], begin: int, end: int | None, size: int, ahead: int
    ):
        self._queue: queue.Queue[tuple[Any, BaseException | None]] = queue.Queue(ahead)
        self._stopped = threading.Event()
        # Not a method: the thread would keep this object, and the reader never end.
        arguments = (read, begin, end, size, self._queue, self._stopped)
        threading.Thread(target=_run, args=arguments, name="shoal.data", daemon=True).start()

    def next(self) -> Any:
        """What it has read next, or the exception of reading it."""
        rows, error = self._queue.get()
        if error is not None:
            self._queue.put((None, error))  # so it ends for a caller that goes on
            raise error
        return rows

    def stop(self) -> None:
        self._stopped.set()
        while not self._queue.empty():
            self._queue.get_nowait()


def _run(
    read: Callable[[int], Any],
    begin: int,
    end: int | None,
    size: int,
    made: queue.Queue[tuple[Any, BaseException | None]],
    stopped: threading.Event,
) -> None:
    place = begin
    while place != end and not stopped.is_set():
        try:
            made.put((read(place), None))
        except BaseException as error:  # pylint: disable=broad-exception-caught
            made.put((None, error))  # it is the caller's
            return
        place += size
