# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Real sentences as inputs of a Mixture-of-Experts layer, for the examples."""

from pathlib import Path

import numpy as np

FILE = Path(__file__).resolve().parent / "data/sentences.tsv"


def read_sentences():
    """Pairs of language and text."""
    lines = FILE.read_text("utf-8").splitlines()
    return [tuple(line.split("\t", 1)) for line in lines]


def make_batch(rng, groups, tokens):
    """Sentences in random order as bytes, cut to groups * tokens of them.

    Returns (tokens [G, S], number of sentences, number of languages).
    """
    sentences = read_sentences()
    text, used = bytearray(), []
    for index in rng.permutation(len(sentences)):
        if len(text) >= groups * tokens:
            break
        language, sentence = sentences[index]
        text += sentence.encode() + b"\n"
        used.append(language)
    batch = np.frombuffer(bytes(text), np.uint8)[: groups * tokens]
    return batch.reshape(groups, tokens), len(used), len(set(used))


def _shuffled_text(seed):
    sentences = read_sentences()
    order = np.random.default_rng(seed).permutation(len(sentences))
    return "\n".join(sentences[i][1] for i in order)


def text_batches(steps, groups, length, seed=0):
    """int32 [steps, groups, length + 1]: pieces of the text of all sentences, as bytes."""
    rng = np.random.default_rng(seed)
    data = np.frombuffer(_shuffled_text(rng).encode(), np.uint8).astype(np.int32)
    starts = rng.integers(len(data) - length, size=(steps, groups))
    return data[starts[..., None] + np.arange(length + 1)]


def text_rows(length):
    """int32 [rows, length + 1]: the text of all sentences in one order, cut into rows; the last byte
    of a row is the first of the next one."""
    data = np.frombuffer(_shuffled_text(0).encode(), np.uint8).astype(np.int32)
    starts = np.arange((len(data) - 1) // length) * length
    return data[starts[:, None] + np.arange(length + 1)]


def make_inputs(rng, tokens, model, experts, hidden):
    """x [G, S, M], router [M, E], wi [E, M, H], wo [E, H, M] of float32.

    A token's vector is its byte's, plus half of the byte's before it.
    """

    def normal(*shape, scale):
        return (rng.standard_normal(shape) * scale).astype(np.float32)

    table = normal(256, model, scale=1.0)
    before = np.roll(tokens, 1, axis=1)
    return {
        "x": table[tokens] + np.float32(0.5) * table[before],
        "router": normal(model, experts, scale=model**-0.5),
        "wi": normal(experts, model, hidden, scale=model**-0.5),
        "wo": normal(experts, hidden, model, scale=hidden**-0.5),
    }
