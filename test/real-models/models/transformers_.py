# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Flax models of Hugging Face's transformers."""

import transformers
from networks import Network, P, integers, label_loss, mean_square, network, next_token_loss, normal

COLUMNS, ROWS = P(None, "model"), P("model", None)


def _text(model, loss, targets=(), batch=16):
    tokens = integers(64, batch, 16)

    def apply(parameters, tokens):
        return model(tokens, params=parameters, train=False).logits

    return Network(apply, model.params, (tokens,), targets, loss)


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
    model = transformers.FlaxBertForSequenceClassification(config, input_shape=(1, 16))
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
    return _text(transformers.FlaxGPT2LMHeadModel(config, input_shape=(1, 16)), next_token_loss)


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
    return _text(transformers.FlaxLlamaForCausalLM(config, input_shape=(1, 16)), next_token_loss)


@network(
    {
        "(q|k|v|wi)'..'kernel": COLUMNS,
        "(o|wo)'..'kernel": ROWS,
    },
    kinds=("forward",),
)
def t5():
    config = transformers.T5Config(
        vocab_size=64, d_model=32, d_kv=8, d_ff=64, num_layers=1, num_heads=4, decoder_start_token_id=0
    )
    model = transformers.FlaxT5ForConditionalGeneration(config, input_shape=(1, 16))

    def apply(parameters, source, target):
        return model(source, decoder_input_ids=target, params=parameters, train=False).logits

    return Network(apply, model.params, (integers(64, 16, 16), integers(64, 16, 8)), (), mean_square)


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
    model = transformers.FlaxViTForImageClassification(config, input_shape=(1, 8, 8, 3))

    def apply(parameters, images):
        return model(images.transpose(0, 3, 1, 2), params=parameters, train=False).logits

    return Network(apply, model.params, (normal(16, 8, 8, 3),), (integers(4, 16),), label_loss)
