# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Penzai: arrays with named axes."""

import jax.numpy as jnp
from networks import KEY, Network, P, integers, network, next_token_loss
from penzai import pz
from penzai.models.transformer.variants import llamalike_common as llama


@network(
    {
        "(query|key|value).*(mlp|attn|)": P(),
    },
    kinds=("forward", "step"),
)
def llamalike():
    config = llama.LlamalikeTransformerConfig(
        num_kv_heads=2,
        query_head_multiplier=2,
        embedding_dim=32,
        projection_dim=8,
        mlp_hidden_dim=64,
        num_decoder_blocks=2,
        vocab_size=64,
        mlp_variant="swiglu",
        tie_embedder_and_logits=False,
        rope_wavelength=10_000,
        rms_norm_eps=1e-6,
        attention_type=llama.AttentionTypeGlobalCausal(),
        parameter_dtype=jnp.float32,
        activation_dtype=jnp.float32,
    )
    model = llama.build_llamalike_transformer(config, init_base_rng=KEY, name="model")
    model, variables = pz.unbind_variables(model, freeze=True)

    def apply(variables, tokens):
        bound = pz.bind_variables(model, variables)
        tokens = pz.nx.wrap(tokens).tag("batch", "seq")
        positions = pz.nx.arange("seq", tokens.named_shape["seq"])
        return bound(tokens, token_positions=positions).unwrap("batch", "seq", "vocabulary")

    return Network(apply, variables, (integers(64, 16, 16),), loss=next_token_loss)
