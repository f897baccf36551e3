# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Generation by models of transformers, token by token as torch. Skipped where torch or transformers is not installed."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers.exporters")

from torch_models import decoder, tokens  # noqa: E402

import shoal  # noqa: E402
import shoal.torch as st  # noqa: E402
from shoal import P  # noqa: E402
from shoal.errors import InputError  # noqa: E402

FAMILIES = ("Llama", "Mixtral", "Qwen3Moe", "Olmoe", "DeepseekV3", "GptOss")
GREEDY = {"max_new_tokens": 16, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}


def model_of(name, **fields):
    return decoder(name, "eager" if name == "GptOss" else "sdpa", None if name == "Llama" else "grouped_mm", **fields)


@pytest.mark.parametrize("name", FAMILIES)
def test_tokens_are_those_of_generate(name):
    """Sixteen, greedily; gpt-oss' window of eight places is left on the way."""
    model, ids = model_of(name), tokens(2, 6)
    expected = model.generate(ids, use_cache=True, **GREEDY)
    generate = st.generator(model)
    assert torch.equal(generate(ids, **GREEDY), expected)
    assert torch.equal(generate(ids.flip(0), **GREEDY), expected.flip(0))
    prompt, step = generate.executables()
    # Keys and values are given away: there is one of them.
    assert step.text.count("shoal.donated") == 6 and "shoal.donated" not in prompt.text
    assert {name for name in generate.state if name.startswith("cache.")} == {f"cache.{i}" for i in range(6)}


@pytest.mark.parametrize("name", FAMILIES)
def test_tokens_on_four_devices(name):
    """Attention and experts by the model's plans, keys and values by rows."""
    model, ids = model_of(name), tokens(2, 6)
    expected = model.generate(ids, use_cache=True, **GREEDY)
    experts = {} if name == "Llama" else st.ep_plan(model, "expert")
    generate = st.generator(model, mesh=shoal.Mesh(expert=2, model=2), params=st.tp_plan(model, "model") | experts, cache=P("expert"))
    assert torch.equal(generate(ids, **GREEDY), expected)
    assert all(executable.devices == 4 for executable in generate.executables())


def test_prompts_with_padding_and_sampling():
    """The loop is transformers': masks, warpers and criteria are its own."""
    model, ids = model_of("Llama", num_hidden_layers=1), tokens(2, 6)
    mask = torch.ones_like(ids)
    mask[0, :3] = 0
    generate = st.generator(model)
    for seed in range(2):
        given = {**GREEDY, "max_new_tokens": 4, "do_sample": bool(seed), "attention_mask": mask}
        torch.manual_seed(seed)
        expected = model.generate(ids, use_cache=True, **given)
        torch.manual_seed(seed)
        assert torch.equal(generate(ids, **given), expected)
    assert len(generate.executables()) == 2


def test_what_needs_the_numbers_of_the_cache_is_refused():
    generate = st.generator(model_of("Llama", num_hidden_layers=1))
    with pytest.raises(InputError, match="num_beams: beams reorder the cache, which lies on the devices; expected 1"):
        generate(tokens(), max_new_tokens=4, num_beams=2)
    with pytest.raises(InputError, match="expected max_new_tokens="):
        generate(tokens())
