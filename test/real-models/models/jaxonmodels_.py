# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""jaxonmodels: models of Equinox."""

import jax.numpy as jnp
from jaxonmodels.models import mamba as mamba_
from jaxonmodels.models import vit as vit_
from models.equinox_ import functional
from networks import Network, P, integers, label_loss, network, normal


@network(
    {"in_proj.weight": P("model", None), "out_proj.weight": P(None, "model")},
    kinds=("forward", "step_2d"),
)
def mamba():
    """Mamba's block: a selective scan along the sequence."""
    apply, parameters = functional(lambda key: mamba_.MambaBlock(32, 32, 2, 4, key=key))
    return Network(apply, parameters, (normal(16, 16, 32),))


@network(
    {"c_fc.weight": P("model", None), "c_fc.bias": P("model"), "c_proj.weight": P(None, "model")},
    kinds=("forward", "step"),
)
def vit():
    def make(key):
        return vit_.VisionTransformer(8, 2, 32, 1, 4, 8, key=key, dtype=jnp.float32)

    apply, parameters = functional(make, lambda model, x: model(x)[0])
    return Network(apply, parameters, (normal(16, 3, 8, 8),), (integers(8, 16),), label_loss)
