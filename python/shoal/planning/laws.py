# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which sizes of groups go with a model: what Megatron-LM (training/arguments.py, core/transformer/transformer_config.py,
core/tensor_parallel/utils.py) and torchtitan (models/common/decoder.py, distributed/parallel_dims.py) ask of both."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from shoal.errors import InputError
from shoal.models.config import ModelConfig

__all__ = ["check_divides", "check_divides_fixed"]

# A stage may have an embedding or a head alone.
_BESIDE_LAYERS = 2


def check_divides(config: ModelConfig, mapping: Any) -> None:
    """InputError names the first size that a group's devices do not divide. mapping: a `Mapping`."""
    for what, size, group, devices in _divided(config, mapping):
        if size % devices:
            raise InputError(f"plan: {size} {what} are not divisible by {group} = {devices}")
    if mapping.ep > 1 and not any(config.moe_layers):
        raise InputError(f"plan: ep {mapping.ep}, but the model has no experts")
    most = config.num_hidden_layers + _BESIDE_LAYERS + mapping.mtp
    if mapping.pp * mapping.stages > most:
        raise InputError(
            f"plan: pp {mapping.pp} times {mapping.stages} stages a device = {mapping.pp * mapping.stages} stages,"
            f" but {config.num_hidden_layers} layers with an embedding and a head make {most} at most"
        )


def check_divides_fixed(config: ModelConfig, fixed: dict[str, Any], sequence: int) -> None:
    """The same of the fields of a mapping that are given."""
    sizes = {"tp": 1, "cp": 1, "ep": 1, "pp": 1, "stages": 1, "mtp": 0, "sequence_parallel": True, **fixed, "sequence": sequence}
    check_divides(config, SimpleNamespace(**{"etp": 1, **sizes}))


def _divided(config: ModelConfig, mapping: Any) -> Iterator[tuple[str, int, str, int]]:
    """What, how many of it, which group, of how many devices."""
    tp, keys = mapping.tp, config.num_key_value_heads
    yield "heads", config.num_attention_heads, "tp", tp
    if config.latent is None:
        # Of fewer of them than devices several devices have the same one.
        yield ("heads of keys", keys, "tp", tp) if keys > tp else ("devices of tp", tp, "heads of keys", keys)
    if not all(config.moe_layers):
        yield "hidden units of dense networks", config.intermediate_size, "tp", tp
    if any(config.moe_layers):
        yield "experts", config.moe.num_experts, "ep", mapping.ep
        yield "hidden units of an expert", config.moe.moe_ffn_hidden_size, "etp", mapping.etp
    if mapping.cp > 1:
        yield "tokens of a sequence", mapping.sequence, "2 cp", 2 * mapping.cp
    if mapping.sequence_parallel:
        yield "tokens of a sequence", mapping.sequence, "cp tp", mapping.cp * tp
