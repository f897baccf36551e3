# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is sent over tp beside products, where sequences lie in parts.

A block (attention, a dense network) gathers what its first products are given, and scatters the sums of that one's
cotangent. Megatron-LM and Transformer Engine save the device's own part alone: the backward pass gathers it again while it
multiplies for the cotangent, and scatters this while it multiplies for weights' gradients (core/tensor_parallel/layers.py,
LinearWithGradAccumulationAndAsyncCommunication). A program of Shoal's saves what was gathered, and has nothing beside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shoal.planning.beside import longer
from shoal.planning.exchanges import axes_of
from shoal.planning.kernels import LOSS
from shoal.planning.programs import Kind, Setting
from shoal.simulation.forecast import Row
from shoal.simulation.machines import Machine

__all__ = ["regathered_bytes", "with_products_beside"]


def _blocks(setting: Setting, kind: Kind) -> list[str]:
    """Those whose input is gathered over tp. Of latent attention it is what is small that is gathered, which stays."""
    mapping = setting.mapping
    if mapping.tp == 1 or not (mapping.sequence_parallel and mapping.gathers_again):
        return []
    attention = ["attention"] if setting.config.latent is None else []
    return attention + ([] if kind.has_experts else ["dense"])


def _others(setting: Setting) -> float:
    """Bytes of a block's input that a device has not."""
    mapping = setting.mapping
    return mapping.width * mapping.device_tokens * setting.config.hidden_size * (mapping.tp - 1) / mapping.tp


def regathered_bytes(setting: Setting, kind: Kind) -> float:
    """What a layer's program saves of others, and these libraries do not; nothing where it is computed again."""
    return 0.0 if setting.mapping.recompute == "full" else len(_blocks(setting, kind)) * _others(setting)


def with_products_beside(rows: Sequence[Row], setting: Setting, kind: Kind, machine: Machine) -> list[Row]:
    """Of a layer's rows, forward and back."""
    made = list(rows)
    for block in _blocks(setting, kind):
        _change(made, block, setting, machine)
    return made


def _change(rows: list[Row], block: str, setting: Setting, machine: Machine) -> None:
    """A block's scatter in its backward pass is beside products as long as those that its input is given to, and so is a
    further gather."""
    layer = f"layers.0/{block}"
    middle = next((place for place, row in enumerate(rows) if row.layer == LOSS), 0)
    mine = [place for place, row in enumerate(rows) if row.layer == layer]
    size = setting.config.hidden_size
    products = sum(rows[place].seconds for place in mine if place < middle and rows[place].shape and rows[place].shape[3] == size)
    scattered = [place for place in mine if place > middle and rows[place].name == "reduce_scatter"]
    if not scattered:
        return
    last = scattered[-1]
    sent = machine.price("all_gather", axes_of(setting, "tp"), int(_others(setting)))
    again = replace(rows[last], name="all_gather", seconds=float(longer(sent, products, machine)), bytes=int(_others(setting)))
    rows[last] = replace(rows[last], seconds=float(longer(rows[last].seconds, products, machine)))
    rows.insert(last, again)
