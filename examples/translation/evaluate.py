#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Translates what was held out by a trained model, by copying, or by the nearest training source.

Usage: evaluate.py FOLDER MODEL [--pairs N]     MODEL: one of variants.py, "copy" or "nearest"

Writes FOLDER/MODEL/translations.json and, of a model with experts, experts.json: how many tokens of each script each
expert was chosen by.
"""

import argparse
import json
import unicodedata
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
from nearest import Nearest
from pairs import some
from prepare import read_split, tokenizer_of
from tokens import PAD, source_rows, target_rows, texts_of
from variants import VARIANTS

import shoal

BATCH = 128
SETS = ("test", "transfer")


def copied(texts, train):
    return texts


def nearest(texts, train):
    sources = sorted({pair.source: pair.english for pair in reversed(train)}.items())
    found = Nearest([source for source, _ in sources])
    return [sources[found.find(text)][1] for text in texts]


BASELINES = {"copy": copied, "nearest": nearest}


class Translator:
    """A trained model on one device."""

    def __init__(self, folder, name):
        from train import Training

        training = Training(folder, name, ranks=1)
        self.steps, self.params = int(training.state.step), training.state.params
        self.model, self.sizes = training.model, training.settings.sizes
        self.tokenizer = tokenizer_of(folder)
        mesh, length = training.mesh, self.sizes.target
        self._translate = shoal.jit(lambda p, rows: self.model.translate(p, rows, length), mesh=mesh)
        self._loss = shoal.jit(lambda p, batch: self.model.loss(p, batch, training=False)[1], mesh=mesh)

    def translations(self, texts):
        rows = source_rows(self.tokenizer, texts, self.sizes)
        made = [np.asarray(self._translate(self.params, part)) for part in _batches(rows)]
        return texts_of(self.tokenizer, np.concatenate(made)[: len(texts)]) if made else []

    def expert_counts(self, pairs):
        """[2, E]: choices of each expert of the encoder and the decoder by the tokens of these pairs."""
        source = _batches(source_rows(self.tokenizer, [pair.source for pair in pairs], self.sizes))
        target = _batches(target_rows(self.tokenizer, [pair.english for pair in pairs], self.sizes))
        made = [self._loss(self.params, {"source": s, "target": t})["counts"] for s, t in zip(source, target)]
        return sum(np.asarray(counts) for counts in made)


def _batches(rows):
    """Of BATCH rows, the last filled with padding, which counts nowhere."""
    filled = np.concatenate([rows, np.full((-len(rows) % BATCH, rows.shape[1]), PAD, rows.dtype)])
    return filled.reshape(-1, BATCH, rows.shape[1])


def script_of(text):
    """The script of most of its letters, as Unicode names it: "LATIN", "CYRILLIC"; "OTHER" without a letter."""
    letters = Counter(unicodedata.name(c, "OTHER").split()[0] for c in text if c.isalpha())
    return letters.most_common(1)[0][0] if letters else "OTHER"


def scripts_of(pairs):
    """{language: script}, that of all its sources."""
    texts = defaultdict(list)
    for pair in pairs:
        texts[pair.language].append(pair.source)
    return {language: script_of("".join(parts)) for language, parts in texts.items()}


def held_out(split, name, count):
    """{set: pairs} that a model is evaluated on."""
    language = VARIANTS[name].language if name in VARIANTS else None
    chosen = {}
    for part in SETS:
        pairs = getattr(split, part)
        pairs = pairs if count is None else some(pairs, count)
        chosen[part] = [pair for pair in pairs if language in (None, pair.language)]
    return chosen


def evaluate(folder, name, count=None):
    """count: of about so many pairs of each set; None: all."""
    split = read_split(folder)
    sets, model = held_out(split, name, count), None
    if name in BASELINES:
        texts = {part: BASELINES[name]([p.source for p in pairs], split.train) for part, pairs in sets.items()}
    else:
        model = Translator(folder, name)
        texts = {part: model.translations([p.source for p in pairs]) for part, pairs in sets.items()}
    made = {"steps": model.steps if model else 0, "sets": sets, "texts": texts}
    (folder / name).mkdir(exist_ok=True)
    if model and VARIANTS[name].experts:
        _write(folder / name / "experts.json", _expert_counts(model, split, sets["test"]))
    _write(folder / name / "translations.json", made)


def _expert_counts(model, split, pairs):
    scripts, by_script = scripts_of(split.train), defaultdict(list)
    for pair in pairs:
        by_script[scripts.get(pair.language, "OTHER")].append(pair)
    return {script: model.expert_counts(of_it).tolist() for script, of_it in sorted(by_script.items())}


def _write(path, content):
    path.write_text(json.dumps(content, ensure_ascii=False))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("model", choices=[*VARIANTS, *BASELINES])
    parser.add_argument("--pairs", type=int)
    options = parser.parse_args()
    evaluate(options.folder, options.model, options.pairs)


if __name__ == "__main__":
    main()
