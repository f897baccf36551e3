# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which frames of the stack are this package's, and which its user's."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Iterator
from types import FrameType, TracebackType

# Not resolved: of a build, the modules are links, which frames do not follow.
_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def is_internal(frame: FrameType) -> bool:
    """Whether the frame is of this package."""
    return frame.f_code.co_filename.startswith(_PACKAGE)


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def user_frame() -> FrameType | None:
    """The innermost frame that is not of this package."""
    return next(itertools.dropwhile(is_internal, _outwards(sys._getframe(1))), None)


def called_with(value: object) -> str:
    """"function: parameter" of this package, which the user calls with this value, alone or in a list; the function where
    it is in no parameter, "" where there is none."""
    inner = list(itertools.takewhile(is_internal, _outwards(sys._getframe(1))))
    if not inner:
        return ""
    code, given = inner[-1].f_code, inner[-1].f_locals
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    function = code.co_name.strip("_")
    for name in names:
        if given.get(name) is value:
            return f"{function}: {name}"
        listed = given.get(name) if isinstance(given.get(name), (list, tuple)) else ()
        for number, part in enumerate(listed):
            if part is value:
                return f"{function}: {name}[{number}]"
    return function


def user_stacklevel() -> int:
    """What the caller gives to warnings.warn for a warning at the user's line."""
    return 1 + len(list(itertools.takewhile(is_internal, _outwards(sys._getframe(1)))))


def users_traceback(traceback: TracebackType | None) -> TracebackType | None:
    """The traceback without this package's frames."""
    kept = []
    while traceback is not None:
        if not is_internal(traceback.tb_frame):
            kept.append(traceback)
        traceback = traceback.tb_next
    result = None
    for entry in reversed(kept):
        result = TracebackType(result, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return result


def column(frame: FrameType) -> int:
    """Of what the frame is doing, from 1 on; 0 where Python does not know (before 3.11)."""
    if sys.version_info < (3, 11):
        return 0
    positions = itertools.islice(frame.f_code.co_positions(), frame.f_lasti // 2, None)
    _, _, start, _ = next(positions, (None,) * 4)
    return 0 if start is None else start + 1
