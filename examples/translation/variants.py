# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The models that are compared: GShard's rows in miniature."""

from typing import NamedTuple

import shoal
from shoal.models import EncoderDecoder
from shoal.moe import Layout, MoeConfig


class Variant(NamedTuple):
    """experts: of each layer that has some, 0 where none has. language: the one that it is trained on; None: all."""

    experts: int = 0
    layers: int = 2
    language: str | None = None


class Width(NamedTuple):
    """group: so many tokens, on whatever devices they lie, have a capacity."""

    model: int = 128
    hidden: int = 512
    heads: int = 8
    group: int = 512


BILINGUAL = ("uk", "fr", "da", "eu", "cy", "yo")  # of high, middle and low resources, two each
VARIANTS = {
    "dense": Variant(),
    "e4": Variant(4),
    "e16": Variant(16),
    "e64": Variant(64),
    "deep": Variant(layers=6),
    **{f"only-{language}": Variant(language=language) for language in BILINGUAL},
}


def layout_of(ranks):
    """Sequences and experts over so many devices."""
    return Layout(shoal.Mesh(data=ranks), {"dp": ("data",), "ep": ("data",)})


def model_of(variant, sizes, width=Width(), layout=None):
    """The first layer of the encoder and of the decoder has the experts: top-2, the second at random, twice
    the room that even loads need, GShard's loss times 0.01 (arXiv 2006.16668)."""
    has_experts = tuple(variant.experts > 0 and layer == 0 for layer in range(variant.layers))
    moe = None
    if variant.experts:
        moe = MoeConfig.gshard(variant.experts, width.hidden, moe_group_size=width.group, moe_expert_capacity_factor=2.0)
    return EncoderDecoder(
        sizes.vocabulary, width.model, width.heads, width.hidden, has_experts, has_experts, moe,
        layout or Layout(),
    )  # fmt: skip
