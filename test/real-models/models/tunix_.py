# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tunix: models of flax.nnx that are trained after their training."""

import jax.numpy as jnp
from models.nnx import functional
from networks import Network, P, integers, network, next_token_loss, normal
from tunix.models.gemma3 import model as gemma3
from tunix.models.gemma4 import moe as gemma4
from tunix.models.llama3 import model as llama3
from tunix.models.qwen3 import model as qwen3

SPLIT = {
    "(q|kv|k|v)_(proj|einsum)'..'w": P(None, "model", None),
    "(o_proj|attn_vec_einsum)'..'w": P("model", None, None),
    "mlp.*(gate|up)_proj'..'kernel": P(None, "model"),
    "mlp.*down_proj'..'kernel": P("model", None),
    "mlp.*(gate|up|down)_proj'": P("model", None, None),  # experts
}


def decoder(make, vocabulary=64, batch=16, length=16):
    def call(model, tokens):
        positions = jnp.broadcast_to(jnp.arange(length), tokens.shape)
        mask = jnp.broadcast_to(jnp.tril(jnp.ones((length, length), bool)), (*tokens.shape, length))
        return model(tokens, positions, None, mask)[0].astype(jnp.float32)

    apply, parameters = functional(make, call)
    return Network(apply, parameters, (integers(vocabulary, batch, length),), loss=next_token_loss)


SIZES = {
    "num_layers": 1,
    "embed_dim": 32,
    "hidden_dim": 64,
    "num_heads": 4,
    "head_dim": 8,
    "num_kv_heads": 2,
}


@network(SPLIT, kinds=("step_2d",))
def qwen3_dense():
    config = qwen3.ModelConfig(**SIZES, vocab_size=64, rope_theta=10_000, norm_eps=1e-6)
    return decoder(lambda rngs: qwen3.Qwen3(config, rngs=rngs))


@network(SPLIT)
def qwen3_moe():
    config = qwen3.ModelConfig(
        **SIZES, vocab_size=64, rope_theta=10_000, norm_eps=1e-6, num_experts=4, num_experts_per_tok=2
    )
    return decoder(lambda rngs: qwen3.Qwen3(config, rngs=rngs))


@network(SPLIT, kinds=("forward",))
def llama():
    config = llama3.ModelConfig(**SIZES, vocab_size=64, rope_theta=10_000, norm_eps=1e-6)
    return decoder(lambda rngs: llama3.Llama3(config, rngs=rngs))


@network(SPLIT, kinds=("step",))
def gemma():
    config = gemma3.ModelConfig(
        **SIZES, num_embed=64, sliding_window_size=8, param_dtype=jnp.float32
    )
    return decoder(lambda rngs: gemma3.Gemma3(config, rngs=rngs))


@network({"gating_einsum|linear": P("model")}, kinds=("forward", "step_2d"))
def gemma4_sorted_experts():
    """Tokens sorted by expert, products of ragged groups."""

    class Config:
        embed_dim, expert_dim, num_experts, num_experts_per_tok = 32, 64, 4, 2
        param_dtype = dtype = jnp.float32

        class shd_config:
            exp_weight_edf = exp_weight_efd = (None, None, None)

    apply, parameters = functional(lambda rngs: gemma4.MoERagged(Config, rngs=rngs))
    return Network(apply, parameters, (normal(16, 16, 32),))
