# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `shoal plan` refuses, and what it says of what it plans otherwise."""

import json
import os
import re
import subprocess
import sys

import pytest

import shoal
from paths import PATHS
from shoal.models import from_config
from shoal.planning import Mapping, forecast_of
from shoal.planning.command import main
from shoal.planning.tables import main as tables

DENSE = {
    "model_type": "llama", "num_hidden_layers": 3, "hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 4,
    "intermediate_size": 1024, "vocab_size": 1024, "rms_norm_eps": 1e-5,
}  # fmt: skip
MODEL = ["mixtral-8x7b", "--machine=dgx-h100", "--devices=64"]


@pytest.mark.parametrize(
    "words, message",
    [
        (["mixtral-8x7", "--machine=h800", "--devices=8"], "mixtral-8x7: is missing, and no published model: "),
        (["llama-3.1-8b", "--machine=h800", "--devices=8"], "llama-3.1-8b: is missing, and no published model: "),
        (["mixtral-8x7b", "--machine=h8000", "--devices=8"], "nearest is h800"),
        (["mixtral-8x7b", "--machine=h800", "--devices=8", "--layout", "--tp", "2"], "--tp is not known"),
        (["mixtral-8x7b", "--machine=h800", "--devices=0"], "devices 0 is not positive"),
        ([*MODEL, "--global-batch-size=0"], "global_batch 0 is not positive"),
        ([*MODEL, "--top=0"], "top 0 is not positive"),
        ([*MODEL, "--top=-3"], "top -3 is not positive"),
        ([*MODEL, "--within=-5"], "within -0.05: expected a share"),
        ([*MODEL, "--within=nan"], "within nan: expected a share"),
        ([*MODEL, "--top=2", "--within=1", "--fixed", "--against", "--layout"], "--fixed, --against, --top, --within beside --layout"),
        ([*MODEL, "--fixed", "--expert-model-parallel-size=7"], "8 experts are not divisible by ep = 7"),
        ([*MODEL, "--against", "--tensor-model-parallel-size=64"], "32 heads are not divisible by tp = 64"),
        ([*MODEL, "--layout", "--expert-model-parallel-size=16"], "8 experts are not divisible by ep = 16"),
        ([*MODEL, "--layout", "--parallelism.expert_parallel_degree=16"], "8 experts are not divisible by ep = 16"),
        ([*MODEL, "--layout", "--parallelism.data_parallel_shard_degree=7"], "shard_degree=7 times replicas = 7 times tp, cp and pp = 1 make 7 devices, not 64"),
        ([*MODEL, "--layout", "--parallelism.data_parallel_shard_degree=all"], "shard_degree=all: expected a number, or -1"),
        ([*MODEL, "--layout", "--context-parallel-size=2", "--seq-length=4095"], "4095 tokens of a sequence are not divisible by 2 cp = 4"),
        ([*MODEL, "--layout", "--tensor-model-parallel-size=2", "--sequence-parallel", "--seq-length=4095"],
         "4095 tokens of a sequence are not divisible by cp tp = 2"),
        ([*MODEL, "--layout", "--pipeline-model-parallel-size=64"], "pp 64 times 1 stages a device = 64 stages, but 32 layers"),
        ([*MODEL, "--layout", "--num-experts=64"], "--num-experts 64, but the model's configuration has 8"),
        ([*MODEL, "--layout", "--num-layers=16"], "--num-layers 16, but the model's configuration has 32"),
        ([*MODEL, "--layout", "--fp8-format=banana"], r"--fp8-format banana; expected one of \['e4m3', 'hybrid'\]"),
        ([*MODEL, "--layout", "--moe-expert-capacity-factor=0"], "--moe-expert-capacity-factor 0: expected a share"),
        (["mixtral-8x7b", "--machine=ndv4-a100", "--devices=8", "--layout", "--fp8-format=hybrid"], "ndv4-a100 has no peak for f8E4M3FN"),
    ],
)  # fmt: skip
def test_errors_are_one_line(words, message, capsys):
    assert main(words) == 1
    (error,) = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("note: ")]
    assert error.startswith("error: ") and re.search(message, error)


@pytest.mark.parametrize(
    "fields, message",
    [
        ({"ep": 8}, "ep 8, but the model has no experts"),
        ({"tp": 16}, "8 heads are not divisible by tp = 16"),
        ({"tp": 3, "devices": 9}, "8 heads are not divisible by tp = 3"),
        ({"pp": 8}, "pp 8 times 1 stages a device = 8 stages, but 3 layers with an embedding and a head make 5 at most"),
    ],
)
def test_groups_divide_sizes_of_a_dense_model(fields, message):
    mapping = Mapping(**{"devices": 16, "sequence": 64, **fields})
    with pytest.raises(shoal.InputError, match=message):
        forecast_of(from_config(DENSE).config, shoal.Machine.read("dgx-h100"), mapping)


def test_devices_may_share_heads_of_keys():
    """As Megatron-LM has them, of which torchtitan has none."""
    assert forecast_of(from_config(DENSE).config, shoal.Machine.read("dgx-h100"), Mapping(8, tp=8, sequence=64)).seconds > 0


def notes_of(words, capsys):
    main(words)
    return [line.removeprefix("note: ") for line in capsys.readouterr().err.splitlines() if line.startswith("note: ")]


def test_notes_say_what_is_planned_otherwise(tmp_path, capsys):
    (tmp_path / "config.json").write_text(json.dumps(DENSE))
    flags = ["--swiglu", "--optimizer", "sgd", "--optimizer-cpu-offload", "--fp16", "--pipeline-model-parallel-size", "2"]
    notes = notes_of([str(tmp_path), "--machine=dgx-h100", "--devices=2", "--seq-length=64", "--layout", *flags], capsys)
    assert [note.partition(": ")[2] for note in notes] == [
        "--swiglu has no effect: the model's configuration says it",
        "--optimizer has no effect: it is planned as AdamW",
        "--optimizer-cpu-offload has no effect: what is offloaded is planned as held by the device",
        "--fp16 has no effect: products are planned in bfloat16",
        "3 layers are not divisible by 2 stages, which are planned with as many whole layers as others, or one less:"
        " Megatron-LM asks for --pipeline-model-parallel-layout",
    ]


def test_a_capacity_below_zero_is_none(capsys):
    words = ["mixtral-8x7b", "--machine=dgx-h100", "--devices=8", "--json", "--layout", "--expert-model-parallel-size=8"]
    made = [(main([*words, *more]), capsys.readouterr().out)[1] for more in ([], ["--moe-expert-capacity-factor", "-1"])]
    assert made[0] == made[1]


def test_layers_that_predict_further_tokens_have_to_be_asked_for(capsys):
    words = ["deepseek-v3", "--machine=h800", "--devices=2048", "--layout", "--expert-model-parallel-size=512"]
    assert not [note for note in notes_of([*words, "--mtp-num-layers=1"], capsys) if "num_nextn" in note]
    assert [note for note in notes_of(words, capsys) if "num_nextn_predict_layers 1 has no effect" in note]


def test_pages_of_tables_can_be_written(tmp_path, capsys):
    """Which is asked for before they are made."""
    for page in (tmp_path, tmp_path / "none" / "page.md"):
        assert tables(["--output", str(page)]) == 1
        assert capsys.readouterr().err == f"error: tables: cannot write {page}\n"


def test_who_reads_no_further_ends_it():
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(PATHS)}
    command = [sys.executable, "-m", "shoal", "plan", "--help"]
    made = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    made.stdout.close()
    assert made.stderr.read() == b""
    assert made.wait(60) == 1
