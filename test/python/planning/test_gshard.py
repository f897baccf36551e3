# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GShard's layer as its table is simulated, beside that of `shoal.moe`."""

from dataclasses import replace

import numpy as np
import pytest

from frontend_testing import assert_same, evaluate
from shoal.models.layer import apply_layer
from shoal.models.parameters import shapes
from shoal.moe import total_loss
from shoal.moe.layout import SINGLE
from shoal.planning.gshard import gshard_layer
from shoal.planning.gshard_table import gshard_model

GROUP, EXPERTS, MODEL, HIDDEN = 16, 4, 8, 12


def small(**fields):
    """The table's model, of few sizes."""
    whole = gshard_model(EXPERTS, 2)
    moe = whole.moe.replace(moe_group_size=GROUP, moe_ffn_hidden_size=HIDDEN, **fields)
    return replace(whole, hidden_size=MODEL, num_attention_heads=2, num_key_value_heads=2, head_dim=4, vocab_size=32, moe=moe)


def drawn(tree, random):
    if isinstance(tree, dict):
        return {name: drawn(node, random) for name, node in tree.items()}
    return random.standard_normal(tree).astype(np.float32)


# Each expert has 2 S / E rows, as in the table; half of them, so that most choices are dropped; all.
@pytest.mark.parametrize("factor", [1.0, 0.5, 4.0])
def test_masks_give_what_numbers_of_experts_give(tmp_path, factor):
    config = small(moe_expert_capacity_factor=factor)
    random = np.random.default_rng(3)
    params = drawn(shapes(config)["layers"][1], random)
    x = random.standard_normal((4, 8, MODEL)).astype(np.float32)

    def both(x, params):
        made, loss = gshard_layer(x, params, config, SINGLE, None)
        out = apply_layer(x, params, config, SINGLE, None)
        return made, out.x, loss, total_loss(out.losses, config.moe)

    made, expected, loss, whole = evaluate(tmp_path, both, x, params)
    assert_same("rows", made, expected, tolerance=1e-5)
    # That of `shoal.moe` has a coefficient.
    assert loss > 0 and whole > 0


def test_the_tables_model_has_as_many_rows_as_choices():
    moe = gshard_model(2048, 2).moe
    assert (moe.rows(1024), gshard_model(128, 2).moe.rows(1024)) == (1, 16)
