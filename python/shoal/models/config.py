# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a decoder of attention and experts is, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from shoal.models.rope import Rope
from shoal.moe.config import MoeConfig

__all__ = ["Chunk", "LatentAttention", "ModelConfig", "Temperature", "Window", "described"]


@dataclass(frozen=True)
class LatentAttention:
    """Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434, section 2.1)."""

    q_rank: int | None  # None: queries are not compressed
    kv_rank: int
    nope: int  # elements of a head without a position
    rope: int  # and with one
    value: int


class Chunk(NamedTuple):
    """Attention within equal parts of a sequence (Llama 4): a place looks at those of its own part, up to itself."""

    size: int


# To how many tokens attention looks back, its own among them; None: to all.
Window: TypeAlias = int | Chunk | None


class Temperature(NamedTuple):
    """Queries are times 1 + scale log(1 + floor((p + 1) / floor)) at position p (arXiv 2501.19399)."""

    floor: int
    scale: float


def described(window: Window) -> str:
    """For people."""
    if isinstance(window, Chunk):
        return f"chunks of {window.size}"
    return "no window" if window is None else f"window {window}"


@dataclass(frozen=True)
class ModelConfig:
    """A decoder; Hugging Face's names where it has them.

    windows: of each layer.
    qk_norm: "head", RMSNorm of each head; "all", of all heads together (OLMoE); "turned", of each head that has a
      position, behind it and without weights (Llama 4).
    rope_in_windows: layers that look at all places have no positions (Llama 4); temperature: of their queries.
    balance_over_layers: what layers' losses times their coefficients are made one by; "mean", or "sum" (DeepSeek).
    num_nextn_predict_layers: of files, behind the layers, which predict several tokens and are left out.
    weight_block_size: rows and columns of the blocks of which files have a scale each, where weights are of 8 bits.
    """

    family: str
    vocab_size: int
    hidden_size: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    rms_norm_eps: float
    rope: Rope
    windows: tuple[Window, ...]
    moe: MoeConfig
    moe_layers: tuple[bool, ...]
    intermediate_size: int = 0  # of layers without experts
    qkv_bias: bool = False
    out_bias: bool = False
    qk_norm: str | None = None
    clip_qkv: float | None = None
    sinks: bool = False
    rope_interleave: bool = False
    rope_in_windows: bool = False
    temperature: Temperature | None = None
    latent: LatentAttention | None = None
    tie_word_embeddings: bool = False
    balance_over_layers: str = "mean"
    num_nextn_predict_layers: int = 0
    weight_block_size: tuple[int, int] = (128, 128)

    @property
    def num_hidden_layers(self) -> int:
        """The number of layers."""
        return len(self.windows)
