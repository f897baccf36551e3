# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values that are part of a program."""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Hashable
from typing import Any


def exact(value: Any) -> Hashable:
    """What equal values differ by that programs are not the same for: 0.0 and -0.0, 1 and True and 1.0,
    also in tuples, sets and dataclasses. The value itself is to be compared beside it."""
    kind = type(value)
    if isinstance(value, float):
        return kind, struct.pack("d", value)
    if isinstance(value, complex):
        return kind, struct.pack("dd", value.real, value.imag)
    if isinstance(value, tuple):
        return kind, tuple(map(exact, value))
    if isinstance(value, frozenset):
        return kind, frozenset(map(exact, value))
    if dataclasses.is_dataclass(kind):
        fields = (getattr(value, field.name, None) for field in dataclasses.fields(value))
        return kind, tuple(map(exact, fields))
    return kind
