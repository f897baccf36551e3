# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Texts as tokens: a byte-level BPE of the training pairs, and rows of a fixed length."""

from typing import NamedTuple

import numpy as np

PAD, BEGIN, END = range(3)


class Sizes(NamedTuple):
    """Of the vocabulary and of rows: what is longer is cut."""

    vocabulary: int = 4096
    source: int = 32
    target: int = 16


def train_tokenizer(pairs, vocabulary):
    """A byte-level BPE (arXiv 1508.07909) of so many tokens, the three special ones first."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary, special_tokens=["<pad>", "<begin>", "<end>"], show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )  # fmt: skip
    texts = [pair.source for pair in pairs] + sorted({pair.english for pair in pairs})
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def load_tokenizer(path):
    from tokenizers import Tokenizer

    return Tokenizer.from_file(str(path))


def source_rows(tokenizer, texts, sizes):
    """int32 [texts, sizes.source], padding behind."""
    return _rows(tokenizer, texts, sizes.source, [])


def target_rows(tokenizer, texts, sizes):
    """int32 [texts, sizes.target], each with END behind it, then padding."""
    return _rows(tokenizer, texts, sizes.target, [END])


def _rows(tokenizer, texts, length, last):
    rows = np.full((len(texts), length), PAD, np.int32)
    for row, encoded in zip(rows, tokenizer.encode_batch(list(texts))):
        tokens = encoded.ids[: length - len(last)] + last
        row[: len(tokens)] = tokens
    return rows


def texts_of(tokenizer, rows):
    """What rows of a target say, up to END."""
    ends = [list(row).index(END) if END in row else len(row) for row in rows]
    return tokenizer.decode_batch([[int(t) for t in row[:end]] for row, end in zip(rows, ends)])
