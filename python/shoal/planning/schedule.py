# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How micro-batches pass the stages of a pipeline: what waits, and what is held.

Sizes of a mapping may be those of many, as columns (`shoal.planning.columns`); so are results then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.planning.mapping import Mapping

__all__ = ["Passage", "in_flight", "layers_of_stage", "passage", "shares_of_stage"]


@dataclass(frozen=True)
class Passage:
    """Seconds of all micro-batches: in which the slowest stage works, and in which it waits."""

    work: float
    bubble: float


def layers_of_stage(layers: int, stages: int) -> int:
    """Of the stages with most: layers are whole."""
    return -(-layers // stages)


def shares_of_stage(counts: Sequence[int], stages: int) -> list[float]:
    """The same of layers of several kinds: of each kind, of which there are so many, its share."""
    layers = sum(counts)
    return [count / layers * layers_of_stage(layers, stages) for count in counts]


def passage(mapping: Mapping, slowest: float, all_stages: float, sends: float = 0.0) -> Passage:
    """Of seconds of a micro-batch, forward and back, in the slowest stage, in all of them one after the other, and from each
    to the next.

    Filling and emptying takes what a micro-batch needs in all other stages; with several stages a device, a part of it
    (arXiv 2104.04473), but as many bytes are sent from each device to the next. DualPipe fills from both ends, and weights' gradients, a third of the work, wait for the end
    (arXiv 2412.19437, table 2): (p / 2 - 1)(F + 2 B - 3 W) of B inputs and weights.
    """
    others = all_stages - slowest
    if mapping.schedule == "dualpipe":
        # F, B and W are a third each: F + 2 (B + W) - 3 W = 2 thirds of the whole, of half the stages.
        return Passage(mapping.micro_batches * slowest, (others + sends) / 2 * (2 / 3))
    return Passage(mapping.micro_batches * slowest, others / mapping.stages + sends)


def in_flight(mapping: Mapping, stage: int = 0) -> float:
    """Of how many micro-batches a stage holds what their backward passes need, of its own layers; the first one most.

    1F1B: as many as there are stages from it on; interleaved: (p - 1) / (p v) more (arXiv 2205.05198, section 5), and two
    chunks fewer with each stage; GPipe: all.
    """
    most, left = mapping.micro_batches, mapping.pp - stage
    if mapping.schedule == "gpipe":
        return most
    if mapping.schedule == "dualpipe":
        return np.minimum(most, mapping.pp + 1)
    interleaved = mapping.pp + (mapping.pp - 1 - 2 * stage) / mapping.stages
    return np.minimum(most, np.where(mapping.stages == 1, left, interleaved))
