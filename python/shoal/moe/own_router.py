# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Routers of a user's own: functions in the place of `router_type`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from shoal.errors import TraceError

__all__ = ["Router", "RouterShapes", "given_to", "takes"]

# (tokens [G, S, M], parameters, configuration) and by name what it has parameters for, `bias` and `key`, to
# (experts [G, S, k], weights [G, S, k]), to these and logits [G, S, E], or to a `Routing`.
Router = Callable[..., Any]
# (configuration, model size M) to {name: shape} of the parameters that it has beside the experts'.
RouterShapes = Callable[[Any, int], Mapping[str, tuple[int, ...]]]


def takes(router: Router | None, name: str) -> bool:
    """Whether the function has a parameter of this name."""
    return router is not None and name in _parameters(router)


def given_to(router: Router, **values: Any) -> dict[str, Any]:
    """Of the values those that the function has parameters for."""
    known = _parameters(router)
    return {name: value for name, value in values.items() if name in known}


def _parameters(router: Router) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(router).parameters
    except (TypeError, ValueError):
        raise TraceError(f"MoeConfig: router={router!r} is not a function whose parameters are known") from None
