# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mamba2-jax and mamba3-jax: state-space models of flax.nnx."""

import mamba2_jax
import mamba3_jax
from models.nnx import functional
from networks import Network, P, integers, network, next_token_loss

SPLIT = {"in_proj'..'kernel": P(None, "model"), "out_proj'..'kernel": P("model", None)}


def _logits(model, tokens):
    output = model(tokens)
    return output["logits"] if isinstance(output, dict) else output


@network(SPLIT)
def mamba2():
    config = mamba2_jax.Mamba2Config(
        vocab_size=64, hidden_size=32, state_size=8, head_dim=8, chunk_size=8, num_hidden_layers=1
    )
    apply, parameters = functional(lambda rngs: mamba2_jax.Mamba2ForCausalLM(config, rngs=rngs), _logits)
    return Network(apply, parameters, (integers(64, 16, 16),), loss=next_token_loss)


@network(SPLIT, kinds=("forward",))
def mamba3():
    config = mamba3_jax.Mamba3Config(
        vocab_size=64, hidden_size=32, state_size=8, head_dim=8, chunk_size=8, num_hidden_layers=1
    )
    apply, parameters = functional(lambda rngs: mamba3_jax.Mamba3ForCausalLM(config, rngs=rngs), _logits)
    return Network(apply, parameters, (integers(64, 16, 16),), loss=next_token_loss)
