# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What to say of a name that is not known."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

__all__ = ["nearest"]

# Of difflib's ratio: what is a slip of the fingers, and below what a name is another word.
_SLIP, _ALIKE = 0.85, 0.7
_MORE = 2  # words that somebody may have left out


def nearest(name: str, known: Iterable[str], dashes: str = "") -> str:
    """"; nearest is NAME", with `dashes` in front of it, or where nothing is like it that nothing is."""
    names = list(known)
    found = difflib.get_close_matches(name, names, 1, _SLIP) or _with_words_of(name, names)
    found = found or difflib.get_close_matches(name, names, 1, _ALIKE)
    return f"; nearest is {dashes}{found[0]}" if found else "; no known name is like it"


def _with_words_of(name: str, known: Iterable[str]) -> list[str]:
    """The shortest name that says more than this one of several words: moe-router-topk of moe-topk."""
    words = _words(name)
    if len(words) == 1:
        return []
    fuller = [other for other in known if words < _words(other) and len(_words(other) - words) <= _MORE]
    return sorted(fuller, key=lambda other: (len(other), other))[:1]


def _words(name: str) -> set[str]:
    return set(re.split("[-_]", name))
