# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Flax models of Hugging Face's transformers."""

import transformers
from networks import (
    COLUMNS,
    ROWS,
    Network,
    P,
    initialised,
    integers,
    label_loss,
    network,
    next_token_loss,
    normal,
)


def _parameters(model):
    return initialised(model.params_shape_tree)


def _text(model, loss, targets=(), batch=16):
    tokens = integers(64, batch, 16)

    def apply(parameters, tokens):
        return model(tokens, params=parameters, train=False).logits

    return Network(apply, _parameters(model), (tokens,), targets, loss)


@network(
    {
        "(query|key|value)'..'kernel": COLUMNS,
        "(query|key|value)'..'bias": P("model"),
        "attention'..'output'..'dense'..'kernel": ROWS,
        "intermediate'..'dense'..'kernel": COLUMNS,
        "intermediate'..'dense'..'bias": P("model"),
        "output'..'dense'..'kernel": ROWS,
    }
)
def bert():
    config = transformers.BertConfig(
        vocab_size=64,
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=4,
        intermediate_size=128,
        max_position_embeddings=16,
        num_labels=4,
    )
    model = transformers.FlaxBertForSequenceClassification(config, input_shape=(1, 16), _do_init=False)
    return _text(model, label_loss, (integers(4, 16),))


@network(
    {
        "c_attn'..'kernel": ROWS,  # (out, in)
        "attn'..'c_proj'..'kernel": COLUMNS,
        "c_fc'..'kernel": ROWS,
        "c_fc'..'bias": P("model"),
        "mlp'..'c_proj'..'kernel": COLUMNS,
    }
)
def gpt2():
    config = transformers.GPT2Config(vocab_size=64, n_positions=16, n_embd=32, n_layer=1, n_head=4)
    return _text(transformers.FlaxGPT2LMHeadModel(config, input_shape=(1, 16), _do_init=False), next_token_loss)


@network(
    {
        "(q|k|v|gate|up)_proj'..'kernel": COLUMNS,
        "(o|down)_proj'..'kernel": ROWS,
    },
    kinds=("forward", "step_2d"),
)
def llama():
    config = transformers.LlamaConfig(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=16,
    )
    return _text(transformers.FlaxLlamaForCausalLM(config, input_shape=(1, 16), _do_init=False), next_token_loss)


@network(
    {
        "(query|key|value)'..'kernel": COLUMNS,
        "intermediate'..'dense'..'kernel": COLUMNS,
        "output'..'dense'..'kernel": ROWS,
    },
    kinds=("forward", "step"),
)
def vit():
    config = transformers.ViTConfig(
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=4,
        intermediate_size=64,
        image_size=8,
        patch_size=2,
        num_labels=4,
    )
    model = transformers.FlaxViTForImageClassification(config, input_shape=(1, 8, 8, 3), _do_init=False)

    def apply(parameters, images):
        return model(images.transpose(0, 3, 1, 2), params=parameters, train=False).logits

    return Network(apply, _parameters(model), (normal(16, 8, 8, 3),), (integers(4, 16),), label_loss)
