# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A layer of published models, compiled for the devices of their layouts: what is warned of, and what fits then."""

import importlib.util
import math

import pytest
from shoal_testing import ROOT

spec = importlib.util.spec_from_file_location("model_memory", ROOT / "test/benchmarks/model_memory.py")
model_memory = importlib.util.module_from_spec(spec)
spec.loader.exec_module(model_memory)
ROWS, compiled = model_memory.ROWS, model_memory.compiled


def test_a_layer_names_its_knob_once_and_fits_with_it():
    row = ROWS["OLMoE-1B-7B"]
    made = compiled(row, {}, num_hidden_layers=1)
    assert made.devices == 64 and made.knobs == ["moe_expert_rank_capacity_factor"] and len(made.warned) == 1
    less = compiled(row, {"memory_limit": int(model_memory.CHIP)}, num_hidden_layers=1, moe_expert_rank_capacity_factor=1.5)
    assert less.peak < made.peak and less.peak < model_memory.CHIP and not less.warned


@pytest.mark.parametrize("name", ["Qwen3-30B-A3B", "gpt-oss-120b", "DeepSeek-V3"])
def test_a_step_is_traced_without_its_arrays(name):
    """Of four layers parameters and moments are more than a machine for tests has."""
    program = model_memory.traced(ROWS[name], num_hidden_layers=4)
    assert sum(math.prod(spec.shape) * spec.dtype.itemsize for spec in program.inputs.values()) > 24e9
