# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The options of the partitioner are the same, with the same words, wherever they can be given:
shoalc, shoal-run, the pipelines of shoal-opt and the package."""

import dataclasses
import inspect
import re

import pytest

import shoal
from shoal.executable.native import native
from shoal_testing import BIN, run


def native_options():
    """Each option's text and default by its flag."""
    options = native().Options()
    return {
        name.replace("_", "-"): (getattr(type(options), name).__doc__, getattr(options, name))
        for name in native().PARTITION_OPTIONS
    }


def flags_of(help_text):
    """The text of each flag in what --help prints."""
    return dict(re.findall(r"^ +--([\w-]+)(?:=<[^>]*>)? +- +(.*)$", help_text, re.M))


@pytest.mark.parametrize("tool", ["shoalc", "shoal-run"])
def test_flags(tool):
    flags = flags_of(run(BIN / tool, "--help").expect_success().stdout)
    expected = {flag: text for flag, (text, _) in native_options().items()}
    assert "max-replicated-bytes" in expected
    assert {flag: flags.get(flag) for flag in expected} == expected


@pytest.mark.parametrize("pipeline", ["shoal-partition", "shoal-optimize-collectives"])
def test_options_of_pipelines(pipeline):
    text = run(BIN / "shoal-opt", "--help").expect_success().stdout
    below = re.search(rf"^( +)--{pipeline} .*\n((?:\1 +.*\n)*)", text, re.M)[2]
    assert flags_of(below) == {flag: text for flag, (text, _) in native_options().items()}


def field_texts():
    """What the class says of each field."""
    text = inspect.getdoc(shoal.CompileOptions)
    return {
        name: " ".join(words.split())
        for name, words in re.findall(r"^(\w+): ((?:.+\n?)(?:  .+\n?)*)", text, re.M)
    }


def test_fields():
    fields = {field.name: field for field in dataclasses.fields(shoal.CompileOptions)}
    texts = field_texts()
    assert texts.keys() == fields.keys()
    for flag, (text, default) in native_options().items():
        name = flag.replace("-", "_")
        assert texts[name] == f"{text[0].lower()}{text[1:]}."
        own = fields[name].default
        assert own is None or own == type(own)(default)


def test_fields_reach_the_compiler():
    values = {
        "combine_bytes": 1,
        "max_replicated_bytes": 2,
        "allow_replicated": ["a", "b"],
        "windowed_einsum_bytes": 3,
        "windowed_einsum_overlap": True,
        "dense_one_hots": True,
        "one_hot_gain": 3.5,
        "flops_per_byte": 4.5,
        "machine": "box.toml",
        "repeat_margin": 5.5,
        "quick_search": True,
        "lint": True,
        "removals": True,
        "certify": True,
        "warn_repeated_work": 6.5,
        "max_repeated_work": 7.5,
        "memory_limit": "12GiB",
        "remat": "dots",
        "remat_collectives": "params",
    }
    assert values.keys() == set(native().PARTITION_OPTIONS)
    options = shoal.CompileOptions(**values).to_native()
    assert {name: getattr(options, name) for name in values} == values
    defaults = shoal.CompileOptions().to_native()
    for flag, (_, default) in native_options().items():
        assert getattr(defaults, flag.replace("-", "_")) == default
