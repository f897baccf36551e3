# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""recurrentgemma: Griffin, a gated linear recurrence beside local attention."""

import jax.numpy as jnp
from models.linen import init
from networks import Network, P, integers, network, next_token_loss
from recurrentgemma import common
from recurrentgemma.jax import griffin


@network(
    {"ffw_up'..'w": P(None, None, "model"), "ffw_down'..'kernel": P("model", None)},
    kinds=("forward", "step_2d"),
)
def language_model():
    config = common.GriffinConfig(
        vocab_size=64,
        width=32,
        mlp_expanded_width=64,
        num_heads=4,
        block_types=(common.TemporalBlockType.RECURRENT, common.TemporalBlockType.ATTENTION),
        embeddings_scale_by_sqrt_dim=True,
        attention_window_size=8,
        logits_soft_cap=30.0,
        scan_type=common.ScanType.LINEAR_NATIVE,
    )
    model, tokens = griffin.Griffin(config, dtype=jnp.float32), integers(64, 16, 16)
    positions = jnp.broadcast_to(jnp.arange(16), tokens.shape)

    def apply(parameters, tokens):
        return model.apply(parameters, tokens, positions, return_logits=True)[0]

    return Network(apply, init(model, tokens, positions), (tokens,), loss=next_token_loss)
