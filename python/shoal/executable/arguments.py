# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks of what a run is asked for."""

from __future__ import annotations

import math
from collections.abc import MutableMapping
from numbers import Integral, Real
from typing import Any

from shoal.errors import InputError

MOST = 2**63 - 1  # what the executable's flags hold


def check_count(name: str, value: Any, least: int, most: int = MOST) -> int:
    """A whole number in the range, which True is not; else InputError."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise InputError(f"{name}: expected a whole number but got {value!r}")
    if not least <= value <= most:
        bound = f"at least {least}" if value < least else f"at most {most}"
        raise InputError(f"{name}: expected {bound} but got {value}")
    return int(value)


def check_timeout(value: Any) -> float | None:
    """Seconds, more than none, or None; else InputError."""
    if value is None:
        return None
    if not isinstance(value, Real) or isinstance(value, bool):
        raise InputError(f"timeout: expected a number of seconds or None but got {value!r}")
    if not (value > 0 and math.isfinite(value)):
        raise InputError(f"timeout: expected more than 0 s, and None for no end, but got {value}")
    return float(value)


def check_stats(value: Any) -> MutableMapping[str, Any] | None:
    """A dict to fill, or None; else InputError."""
    if value is not None and not isinstance(value, MutableMapping):
        raise InputError(f"stats: expected a dict to fill but got {value!r}")
    return value
