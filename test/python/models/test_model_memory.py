# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A layer of published models, compiled for the devices of their layouts: what is warned of, and what fits then."""

import importlib.util
import math
import re

import pytest
from shoal_testing import ROOT

spec = importlib.util.spec_from_file_location("model_memory", ROOT / "test/benchmarks/model_memory.py")
model_memory = importlib.util.module_from_spec(spec)
spec.loader.exec_module(model_memory)
ROWS, compiled = model_memory.ROWS, model_memory.compiled


def test_a_layer_names_its_knob_once_and_fits_with_it():
    row = ROWS["OLMoE-1B-7B"]._replace(turns=1)
    made = compiled(row, {}, num_hidden_layers=1)
    assert made.devices == 64 and made.knobs == ["moe_expert_rank_capacity_factor"] and len(made.warned) == 1
    less = compiled(row, {"memory_limit": int(model_memory.CHIP)}, num_hidden_layers=1, moe_expert_rank_capacity_factor=1.5)
    assert less.peak < made.peak and less.peak < model_memory.CHIP and not less.warned


def test_a_step_keeps_its_chips_memory_by_itself():
    """All of its 16 layers, with buffers for all rows that could come; nothing else is said twice."""
    row = ROWS["OLMoE-1B-7B"]
    made = compiled(row, {})
    assert made.peak < model_memory.CHIP and made.seconds < 60
    (again,) = made.warned
    assert re.search(
        r"a device would hold 10\d,\d+,\d+,\d+ bytes, and an H100 has 83,500,000,000 for a program: it holds [78]\d,\d+,\d+,\d+, and"
        r" [\d.]+% of the forward pass is computed again for that; memory-limit \(memory_limit\) says what another GPU has; moe: moe_expert_rank_capacity_factor=None: each layer's", again
    )  # fmt: skip
    assert made.knobs == list(model_memory.KNOBS)
    room = again[again.index("moe:") :]
    for larger in ({"machine": str(ROOT / "machines/dgx-h200.toml")}, {"memory_limit": "148GB"}):
        whole = compiled(row, larger)
        assert whole.peak > 100e9 and not whole.stats["rematerialized"] and whole.warned[0].endswith(f"warning: {room}")
    asked = compiled(row, {"remat": "everything"})
    assert asked.peak > 100e9 and len(asked.warned) == 1 and asked.knobs == made.knobs
    assert "memory-limit (memory_limit) has what does not fit computed again" in asked.warned[0]


@pytest.mark.parametrize("name", ["Qwen3-30B-A3B", "gpt-oss-120b", "DeepSeek-V3"])
def test_a_step_is_traced_without_its_arrays(name):
    """Parameters and moments are more than a machine for tests has."""
    program = model_memory.traced(ROWS[name])
    assert sum(math.prod(spec.shape) * spec.dtype.itemsize for spec in program.inputs.values()) > 24e9
