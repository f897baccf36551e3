# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains a small Mixture-of-Experts model of transformers by its own plan, on four processes, over bytes of real sentences.

    python examples/torch_moe/train.py --steps 100 --save small-qwen3
"""

import argparse
import sys
from pathlib import Path

import shoal
import shoal.torch as st
import torch
from shoal import P
from transformers import Qwen3MoeConfig, Qwen3MoeForCausalLM

sys.path.append(str(Path(__file__).resolve().parents[1]))
from sentences import text_batches  # noqa: E402

options = argparse.ArgumentParser(description=__doc__)
options.add_argument("--steps", type=int, default=100)
options.add_argument("--save", help="a folder, for save_pretrained")
options = options.parse_args()

torch.manual_seed(0)
model = Qwen3MoeForCausalLM(Qwen3MoeConfig(
    vocab_size=256, hidden_size=64, moe_intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
    head_dim=16, num_experts=8, num_experts_per_tok=2, max_position_embeddings=64, use_cache=False,
))  # fmt: skip
st.register_experts()
model.set_experts_implementation("shoal")  # one op a layer, whose rows go to their experts' devices

layout = shoal.moe.Layout(shoal.Mesh(expert=4), {"dp": ("expert",), "ep": ("expert",)})
batches = [torch.from_numpy(batch[:, :-1]).long() for batch in text_batches(options.steps, 8, 64)]
step = st.train_step(
    model, lambda model, ids: model(input_ids=ids, labels=ids).loss, torch.optim.AdamW(model.parameters(), lr=3e-3), batches[0],
    params=st.ep_plan(model), inputs=P("expert"), layout=layout,
)  # fmt: skip
for number, ids in enumerate(batches, 1):
    metrics = step(ids)
    if number % 10 == 0:
        print(f"step {number}/{options.steps}  loss {metrics['loss']:.3f}  norm of gradients {metrics['grad_norm']:.2f}")
model.load_state_dict(step.state_dict())
if options.save:
    model.set_experts_implementation("grouped_mm")
    model.save_pretrained(options.save)
