# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where an op was written, of what torch notes of it: a stack trace, and the modules it was called in."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from shoal.torch.graph import Node, Place

_FRAME = re.compile(r'File "([^"]*)", line (\d+)')
# Frames of torch's own, and of what captures functions for it, say nothing of the program. Those of other libraries stay:
# the model may be theirs.
_TORCH = re.compile(r"(^|[/\\])(site|dist)-packages[/\\]torch[/\\]|^<|[/\\]shoal[/\\]torch[/\\]\w+\.py$|[/\\](unittest[/\\]mock|contextlib)\.py$")


def is_of_program(file: str) -> bool:
    """Whether a file is no part of torch, nor what captures functions for it."""
    return not _TORCH.search(file)


def place_of(stack_trace: str | None, modules: Sequence[str]) -> Place:
    """The innermost frame that is not torch's; modules: the paths of those around the op, from outside to inside."""
    frames = [(file, int(line)) for file, line in _FRAME.findall(stack_trace or "")]
    file, line = next((frame for frame in reversed(frames) if is_of_program(frame[0])), ("", 0))
    return Place(file, line, _path(modules[-1]) if modules else "")


def _path(module: str) -> str:
    """"layers.0" of "L['self'].layers.0", as strict capture calls it."""
    return re.sub(r"^L(\['self'\]|__self__)\.?", "", module)


def with_places(nodes: Sequence[Node]) -> list[Node]:
    """Nodes of whose lines nothing was noted, as in regions without gradients, have that of the node before them."""
    placed: list[Node] = []
    for node in nodes:
        if not node.place.file and placed:
            before = placed[-1].place
            place = Place(before.file, before.line, node.place.module or before.module)
            node = dataclasses.replace(node, place=place)
        placed.append(node)
    return placed
