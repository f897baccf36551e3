# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a training run has from step to step, and where it lies."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shoal.frontend.annotations import P
from shoal.optim import Transform, shardings_like

__all__ = ["TrainState", "init", "shardings"]

Tree = Any


class TrainState(NamedTuple):
    """step: how many steps are done, an int32 scalar.
    params: the parameters, a tree of arrays; leaves of them may be `Buffers`, which the step moves.
    optimizer: the optimiser's state, a tree of arrays.
    samples: how many rows of batches are behind it, an int64 scalar: where the data goes on,
      whatever the size of batches was and is. None: nobody counts them."""

    step: Any
    params: Tree
    optimizer: Tree
    samples: Any = None


def init(params: Tree, optimizer: Transform) -> TrainState:
    """The state before the first step."""
    return TrainState(np.zeros((), np.int32), params, optimizer.init(params), np.zeros((), np.int64))


def shardings(state: TrainState, params: Any = None, moments: Any = None) -> TrainState:
    """Where a state lies, a tree of P like it, for a step's arguments and results.

    params: of the parameters, a tree of P or a prefix of one; P() where it is None.
    moments: of what the optimiser has for each parameter; as the parameters where it is None.
    """
    params = P() if params is None else params
    moments = params if moments is None else moments
    samples = None if state.samples is None else P()
    return TrainState(P(), params, shardings_like(state.optimizer, state.params, moments), samples)
