# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training steps of decoders of 4 layers, 256 wide, over two devices that split the batch: in
plain JAX with Adam, dense and with experts, and those of test/real-models in that width, with AdamW of Optax."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from transformer import HEADS, VOCABULARY, WIDTH, Transformer

if TYPE_CHECKING:
    from networks import Network

LAYERS, BATCH, LENGTH = 4, 8, 128


def plain() -> Transformer:
    return Transformer(layers=LAYERS, data=2, model=1, batch=BATCH, length=LENGTH)


def moe() -> Transformer:
    """Eight experts in every second layer, split as the batch is."""
    return Transformer(LAYERS, data=2, model=1, batch=BATCH, length=LENGTH, experts=8)


def flax() -> Any:
    def build() -> Network:
        from models.linen import Decoder, init
        from networks import Network, integers, next_token_loss

        net = Decoder(layers=LAYERS, width=WIDTH, heads=HEADS, vocabulary=VOCABULARY)
        tokens = integers(VOCABULARY, BATCH, LENGTH)
        return Network(net.apply, init(net, tokens), (tokens,), loss=next_token_loss)

    return _step("flax", build)


def qwen3() -> Any:
    def build() -> Network:
        from models.tunix_ import decoder
        from tunix.models.qwen3 import model

        config = model.ModelConfig(
            num_layers=LAYERS,
            embed_dim=WIDTH,
            hidden_dim=3 * WIDTH,
            num_heads=HEADS,
            head_dim=WIDTH // HEADS,
            num_kv_heads=HEADS // 2,
            vocab_size=VOCABULARY,
            rope_theta=10_000,
            norm_eps=1e-6,
        )
        return decoder(lambda rngs: model.Qwen3(config, rngs=rngs), VOCABULARY, BATCH, LENGTH)

    return _step("qwen3", build)


def _step(name: str, build: Callable[[], Network]) -> Any:
    from networks import RealProgram

    return RealProgram(name, name, "step", build, split={}, axes={"data": 2})


MODELS = {make.__name__: make for make in (plain, moe, flax, qwen3)}
