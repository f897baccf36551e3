# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""dantinox: a language model of flax.nnx with experts and latent attention."""

from core.config import Config
from core.model import Transformer
from models.nnx import functional
from networks import Network, P, integers, network, next_token_loss


def _language_model(**options):
    config = Config(
        dim=32,
        n_heads=4,
        head_size=8,
        num_blocks=1,
        vocab_size=64,
        max_context=16,
        kv_heads=2,
        dropout_rate=0.0,
        gradient_checkpointing=False,
        **options,
    )

    def call(model, tokens):
        return model(tokens, False, None, 0, deterministic=True)[0]

    apply, parameters = functional(lambda rngs: Transformer(config, rngs=rngs), call)
    return Network(apply, parameters, (integers(64, 16, 16),), loss=next_token_loss)


@network({}, kinds=("step",))
def experts():
    return _language_model(use_moe=True)


@network({}, kinds=("step",))
def latent_attention():
    return _language_model(mla=True, down_dim_q=16, down_dim_kv=16, rope_dim=8)
