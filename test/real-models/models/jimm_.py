# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""jax-image-models: vision Transformers of flax.nnx."""

from flax import nnx
from jimm.models.vit import VisionTransformer
from models.nnx import functional
from networks import Network, P, integers, label_loss, network, normal


@network({}, kinds=("step",))
def vit():
    model = VisionTransformer(
        num_classes=8,
        img_size=8,
        patch_size=2,
        num_layers=1,
        num_heads=4,
        mlp_dim=64,
        hidden_size=32,
        dropout_rate=0.0,
        rngs=nnx.Rngs(0),
    )
    apply, parameters = functional(model)
    return Network(apply, parameters, (normal(16, 8, 8, 3),), (integers(8, 16),), label_loss)
