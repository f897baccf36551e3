# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What to say of a name that is not known."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["nearest"]

_ALIKE = 0.7  # of difflib's ratio; below it a name is another word, and no slip of the fingers


def nearest(name: str, known: Iterable[str], dashes: str = "") -> str:
    """"; nearest is NAME", with `dashes` in front of it, or where nothing is like it that nothing is."""
    found = difflib.get_close_matches(name, list(known), 1, _ALIKE)
    return f"; nearest is {dashes}{found[0]}" if found else "; no known name is like it"
