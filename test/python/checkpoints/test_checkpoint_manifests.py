# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""shoal.checkpoints: a manifest that disagrees with its shards, or with itself, is damaged."""

import json
import shutil

import numpy as np
import pytest
from checkpoint_cases import devices, same_bits
from safetensors.numpy import save_file

import shoal
from shoal import CheckpointError, CheckpointWarning, P, checkpoints
from shoal.checkpoints.checksums import crc32c
from shoal.frontend.annotations import as_sharding
from shoal.mesh_sharding import placement_of

TREE = {"a": np.arange(64, dtype=np.float32).reshape(8, 8), "b": np.full(1000, 7, np.int32)}


def text(content):
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def edit(folder, change):
    """A manifest of another content whose checksum is right."""
    path = folder / "manifest.json"
    content = json.loads(path.read_bytes())
    del content["crc32c"]
    change(content)
    path.write_bytes(text(content | {"crc32c": crc32c(text(content))}))


def of(array, **fields):
    return lambda content: content["arrays"][array].update(fields)


def of_shard(**fields):
    return lambda content: content["shards"][0].update(fields)


def rename(content):
    content["arrays"]["c"] = content["arrays"].pop("b")


def forget(content):
    del content["arrays"]["b"]


CHANGES = {
    "a wider type": (of("a", dtype="float64"), r"has a F32\[8, 8\], but by the manifest a F64\[8, 8\] \(written by rank 0"),
    "a type of the same size": (of("a", dtype="int32"), r"has a F32\[8, 8\], but by the manifest a I32"),
    "an unknown type": (of("a", dtype="float7"), "is damaged: 'float7'"),
    "a shape turned around": (of("b", shape=[10, 100], cuts=[[0, 10], [0, 100]]), r"has b I32\[1000\], but .* I32\[10, 100\]"),
    "fewer rows": (of("a", shape=[4, 8], cuts=[[0, 4], [0, 8]]), r"has a F32\[8, 8\], but by the manifest a F32\[4, 8\]"),
    "cuts of another rank": (of("a", cuts=[[0, 8]]), r"a: cut at \[\[0, 8\]\], but its shape is \[8, 8\]"),
    "cuts that leave rows out": (of("a", cuts=[[0, 4], [0, 8]]), r"a: cut at \[\[0, 4\], \[0, 8\]\], but"),
    "cuts that go back": (of("a", cuts=[[0, 9, 8], [0, 8]], shards=[0, 0]), "a: cut at"),
    "cuts that the shard has not": (of("a", cuts=[[0, 4, 8], [0, 8]], shards=[0, 0]), r"has no a\[0:4,0:8\], but by the manifest"),
    "too few pieces": (of("a", cuts=[[0, 4, 8], [0, 8]]), "a: 2 pieces, but 1 shards"),
    "a shard that is none": (of("a", shards=[1]), "a: a piece lies in shard 1, which there is not"),
    "a number below 0": (of("a", shards=[-1]), "expected a whole number, got -1"),
    "a number that is a bool": (of("a", shape=[True, 8]), "expected a whole number, got True"),
    "another name": (rename, r"has no c, but by the manifest c I32\[1000\]"),
    "a name less": (forget, r"has b I32\[1000\], but by the manifest no b"),
    "a file elsewhere": (of_shard(file="/etc/passwd"), "'/etc/passwd' is no name of a shard"),
    "a file above": (of_shard(file="../x/shard-00000-of-00001-00000000.safetensors"), "is no name of a shard"),
    "a head longer than its file": (of_shard(head_bytes=1 << 40), "a head of 1099511627776 bytes of"),
    "a checksum that is no number": (of_shard(head_crc32c=[]), r"expected a whole number, got \[\]"),
    "a shard that is a number": (lambda content: content.update(shards=[0]), "is damaged"),
    "a name that is a number": (of_shard(file=7), "expected a text, got 7"),
    "a sharding that is a list": (of("a", sharding=[]), r"expected a text, got \[\]"),
    "more rows than addresses": (of("a", shape=[1 << 62, 8], cuts=[[0, 1 << 62], [0, 8]]), r"has a F32\[8, 8\], but"),
    "a field more": (of_shard(note=1), "is damaged: .*note"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_a_manifest_that_disagrees_is_damaged_and_the_step_before_is_taken(tmp_path, name):
    change, message = CHANGES[name]
    series = checkpoints.Series(tmp_path)
    series.save(1, TREE)
    series.save(2, TREE | {"b": TREE["b"] + 1})
    edit(series.folder(2), change)
    for like in (TREE, {"a": TREE["a"].astype(np.float64), "b": TREE["b"]}):
        with pytest.raises(CheckpointError, match=message):
            checkpoints.load(series.folder(2), like)
    with pytest.warns(CheckpointWarning, match="step 1 is taken"):
        loaded = series.load(TREE)
    for name, array in TREE.items():
        same_bits(loaded[name], array)


def test_a_shard_without_a_table_of_checksums(tmp_path):
    checkpoints.save(tmp_path, TREE)
    (path,) = tmp_path.glob("*.safetensors")
    data = path.read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    head = json.loads(data[8:end])
    del head["__crc32c__"]
    data = data[:8] + json.dumps(head).encode().ljust(end - 8) + data[end:]
    path.write_bytes(data)

    def change(content):
        shard = content["shards"][0]
        shard["head_crc32c"] = crc32c(data[: shard["head_bytes"]])

    edit(tmp_path, change)
    with pytest.raises(CheckpointError, match="has no table of checksums .*written by rank 0"):
        checkpoints.load(tmp_path, TREE)


def test_shards_of_another_checkpoint(tmp_path):
    """Each whole by itself."""
    for name, array in (("one", TREE["a"]), ("two", TREE["a"][:4])):
        checkpoints.save(tmp_path / name, {"a": array})
    (mine,), (theirs,) = ((tmp_path / name).glob("shard-*") for name in ("one", "two"))
    head = json.loads((tmp_path / "two" / "manifest.json").read_bytes())["shards"][0]
    shutil.copy(theirs, mine)
    edit(tmp_path / "one", of_shard(**{**head, "file": mine.name}))
    with pytest.raises(CheckpointError, match=r"has a F32\[4, 8\], but by the manifest a F32\[8, 8\]"):
        checkpoints.load(tmp_path / "one", {"a": TREE["a"]})


def test_arrays_without_elements_have_their_shape_in_shards(tmp_path):
    """Also where a device has fewer of their rows."""
    mesh, empty = shoal.Mesh(x=4), np.zeros((3, 0), np.float32)
    placement = placement_of(as_sharding(P("x"), empty.shape, mesh, "e"), mesh, empty.shape, empty.dtype)
    checkpoints.save(tmp_path, {"e": devices(4).put(empty, placement), "a": TREE["a"]})
    same_bits(checkpoints.load(tmp_path, {"e": empty, "a": TREE["a"]})["e"], empty)


@pytest.mark.parametrize("file", ["/etc/x.safetensors", "../x.safetensors", "a/../../x.safetensors"])
def test_an_index_names_files_of_its_folder(tmp_path, file):
    folder = tmp_path / "model"
    (folder / "a").mkdir(parents=True)
    save_file({"w": np.zeros(3)}, tmp_path / "x.safetensors")
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"w": file}}))
    with pytest.raises(CheckpointError, match="is no index of safetensors files: .* is not below its folder"):
        checkpoints.open(folder)
    save_file({"w": np.ones(3)}, folder / "a" / "x.safetensors")
    index.write_text(json.dumps({"weight_map": {"w": "a/x.safetensors"}}))
    same_bits(checkpoints.load(folder, {"w": np.zeros(3)})["w"], np.ones(3))
