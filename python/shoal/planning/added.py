# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of micro-batches, which are added up.

A product that makes a weight's gradient reads the sum of those of the micro-batches before and writes it again, in the type
of sums (gradient_accumulation_fusion of Megatron-LM and Transformer Engine), where a layer's program writes the micro-batch's
alone. So it moves more bytes, and takes longer where these already took longer than its operations: of few rows, as experts
of small micro-batches have, and of products of 8 bits. What is summed over devices by each micro-batch is added up there,
by the sum.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from shoal.planning.memory import gradient_width
from shoal.planning.programs import Kind, Setting
from shoal.simulation.machines import Machine

__all__ = ["adding_seconds", "bytes_of_product"]

# Batch, m, n, k; whether the batch is groups of rows.
_Product = tuple[tuple[int, int, int, int], bool]
_EXPERTS = ("wi", "wg", "wo")


def bytes_of_product(shape: tuple[int, int, int, int], type: str, width: int) -> int:
    """That one of values of so many bytes reads and writes, or of values of 8 bits reads."""
    batch, m, n, k = shape
    return batch * ((1 if type.startswith("f8") else width) * (m * k + k * n) + width * m * n)


def adding_seconds(setting: Setting, kind: Kind, machine: Machine) -> float:
    """Of a micro-batch, how much longer products for weights' gradients of a layer take."""
    mapping = setting.mapping
    if mapping.zero >= 2:
        return 0.0
    type = mapping.type if mapping.type in machine.flops else "bf16"
    more = 2 * gradient_width(mapping) - mapping.width
    total = 0.0
    for shape, is_of_groups in _products(setting.shapes["layers"][kind.first], setting):
        bytes, (batch, m, n, _) = bytes_of_product(shape, mapping.type, mapping.width), shape
        total += machine.price_product(type, shape, bytes + more * batch * m * n, is_of_groups)
        total -= machine.price_product(type, shape, bytes, is_of_groups)
    return total


def _products(layer: dict[str, Any], setting: Setting) -> Iterator[_Product]:
    """Those that make gradients of matrices, on a device."""
    mapping, moe = setting.mapping, layer.get("moe", {})
    tokens = math.ceil(mapping.device_tokens)
    for tree in (layer["attention"], layer.get("dense", {}), moe.get("shared", {})):
        for name, shape in tree.items():
            if name.startswith("w") and len(shape) > 1:
                rows, columns = (math.prod(shape[:-1]), shape[-1]) if name == "wo" else (shape[0], math.prod(shape[1:]))
                # Of short ones that latent attention makes nothing is in parts.
                by = 1 if name in ("wqa", "wkva") else mapping.tp
                cut = (math.ceil(rows / by), columns) if name == "wo" else (rows, math.ceil(columns / by))
                yield (1, *cut, tokens), False
    if moe:
        config = setting.config.moe
        local = math.ceil(config.num_experts / mapping.ep)
        each = math.ceil(mapping.device_tokens / mapping.tp * config.moe_router_topk * mapping.etp / local)
        for name in _EXPERTS:
            if name in moe:
                _, rows, columns = moe[name]
                cut = (math.ceil(rows / mapping.etp), columns) if name == "wo" else (rows, math.ceil(columns / mapping.etp))
                yield (local, *cut, each), True
