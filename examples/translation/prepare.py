# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A run's folder: its settings, the pairs, the tokenizer, and training rows as arrays that are mapped."""

import json
from typing import NamedTuple

import numpy as np
from pairs import Pair, Split, read_pairs, split
from tokens import Sizes, load_tokenizer, source_rows, target_rows, train_tokenizer
from variants import Width


class Settings(NamedTuple):
    """What all models of a run have in common. batch: pairs; longest: characters of the sources and English strings
    that are taken, None for all; warmup: steps up to the learning rate."""

    sizes: Sizes = Sizes()
    width: Width = Width()
    batch: int = 512
    rate: float = 1e-3
    warmup: int = 500
    seed: int = 0
    longest: int | None = None

    def write(self, folder):
        (folder / "settings.json").write_text(json.dumps(self._asdict()))


def read_settings(folder):
    fields = json.loads((folder / "settings.json").read_text())
    return Settings(**{**fields, "sizes": Sizes(*fields["sizes"]), "width": Width(*fields["width"])})


def prepare(folder, settings):
    """Writes what is missing; ValueError where the folder is of other settings."""
    if (folder / "settings.json").exists():
        if read_settings(folder) != settings:
            raise ValueError(f"{folder}: was begun with {read_settings(folder)}, not {settings}")
        return
    folder.mkdir(parents=True, exist_ok=True)
    pairs = [pair for pair in read_pairs() if fits(pair, settings.longest)]
    parts = split(pairs)
    (folder / "pairs.json").write_text(json.dumps(parts._asdict()))
    tokenizer = train_tokenizer(parts.train, settings.sizes.vocabulary)
    tokenizer.save(str(folder / "tokenizer.json"))
    sources, english = ([pair[i] for pair in parts.train] for i in (1, 2))
    np.save(folder / "source.npy", source_rows(tokenizer, sources, settings.sizes))
    np.save(folder / "target.npy", target_rows(tokenizer, english, settings.sizes))
    settings.write(folder)  # last: the folder is whole


def fits(pair, longest):
    return longest is None or max(len(pair.source), len(pair.english)) <= longest


def read_split(folder):
    parts = json.loads((folder / "pairs.json").read_text())
    return Split(**{name: [Pair(*pair) for pair in pairs] for name, pairs in parts.items()})


def training_rows(folder, language=None, least=1):
    """{"source", "target"}: all, or those of a language, repeated until there are at least so many."""
    rows = {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("source", "target")}
    if language is None:
        return rows
    chosen = [i for i, pair in enumerate(read_split(folder).train) if pair.language == language]
    if not chosen:
        raise ValueError(f"no training pairs of {language!r}")
    chosen = np.tile(chosen, -(-least // len(chosen)))
    return {name: array[chosen] for name, array in rows.items()}


def tokenizer_of(folder):
    return load_tokenizer(folder / "tokenizer.json")
