# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""nano-moe-jax: a language model of flax.linen with experts."""

import nano_moe.config
import nano_moe.model
from models.linen import init
from networks import Network, P, integers, network, next_token_loss


@network(
    {
        "expert_.*Dense_0'..'kernel": P(None, "model"),
        "expert_.*Dense_0'..'bias": P("model"),
        "expert_.*Dense_1'..'kernel": P("model", None),
    }, kinds=("forward", "step_2d"))
def language_model():
    config = nano_moe.config.NanoMoEConfig(
        vocab_size=64, n_layers=1, n_heads=4, d_model=32, d_ff=64, n_experts=4, block_size=16
    )
    model, tokens = nano_moe.model.NanoMoE(config), integers(64, 16, 16)

    def loss(output, tokens):
        logits, balance = output
        return next_token_loss(logits, tokens) + config.aux_loss_coeff * balance

    return Network(model.apply, init(model, tokens), (tokens,), loss=loss)
