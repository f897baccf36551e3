# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""shoal.checkpoints: what is saved on some devices and loaded on others, and what others write."""

import errno
import fcntl
import json
import os
import subprocess
import sys
import threading
import time
import zipfile
from unittest import mock

import ml_dtypes
import numpy as np
import pytest
from checkpoint_cases import MESHES, devices, placed, random_array, random_tree, same_bits
from paths import PATHS, SUPPORT
from safetensors import safe_open
from safetensors.numpy import save_file
from shoal_testing import TARGET, mpi_environment, run

import shoal
from shoal import CheckpointError, InputError, P, checkpoints, train
from shoal.checkpoints import checksums
from shoal.checkpoints.checksums import BLOCK



@pytest.mark.parametrize("seed", range(20))
@mock.patch("os.fsync")
def test_what_any_mesh_saves_any_mesh_loads(_, tmp_path, seed):
    """50 trees of four arrays a seed, each saved on one mesh and loaded on another, bit by bit."""
    rng = np.random.default_rng(seed)
    for _ in range(50):
        tree = random_tree(rng)
        source, target = (MESHES[rng.integers(len(MESHES))] for _ in range(2))
        checkpoints.save(tmp_path / "c", placed(rng, tree, source, devices(source.size)))
        like = placed(rng, tree, target, devices(target.size))
        loaded = checkpoints.load(tmp_path / "c", like)
        for name, array in tree.items():
            same_bits(loaded[name], array)
            assert isinstance(loaded[name], type(like[name]))
        whole = checkpoints.load(tmp_path / "c", tree)
        assert all(isinstance(array, np.ndarray) for array in whole.values())
        same_bits(whole["x0"], tree["x0"])


def test_a_rank_reads_its_rows_and_the_rest_of_blocks(tmp_path):
    """Saved on 2 x 3 devices; each rank of eight reads what it keeps, whatever the dimension."""
    rng = np.random.default_rng(0)
    array = random_array(rng, (96, 50_000), np.float32)
    for saved, loaded in (("a", "a"), ("a", "b"), ("b", "a")):
        places = {"a": P("a"), "b": P(None, "a")}
        store = devices(6)
        made = store.put(array, place(places[saved], shoal.Mesh(a=6), array))
        checkpoints.save(tmp_path / "c", {"x": made})
        head = 2000 + 4 * array.nbytes // BLOCK
        for rank in (0, 3, 7):
            like = devices(8, rank).put(array, place(places[loaded], shoal.Mesh(a=8), array))
            with checkpoints.open(tmp_path / "c") as source:
                (shard,) = checkpoints.load(source, {"x": like})["x"].shards
                same_bits(np.ascontiguousarray(shard.data), array[shard.slices])
                runs = 1 if (saved, loaded) == ("a", "a") else 96
                pieces = 6 if saved == "b" else 2
                most = shard.data.nbytes + head + 2 * BLOCK * (runs + pieces)
                assert source.bytes_read <= most, (saved, loaded, rank)
                if runs == 1:
                    assert source.bytes_read <= 1.05 * shard.data.nbytes


def place(spec, mesh, array):
    from shoal.frontend.annotations import as_sharding
    from shoal.mesh_sharding import placement_of

    return placement_of(as_sharding(spec, array.shape, mesh, "x"), mesh, array.shape, array.dtype)


@pytest.mark.parametrize("refuses", [False, True])
def test_a_save_in_the_background_goes_past_the_systems_cache(tmp_path, refuses):
    """In whole pages; a file system that refuses them at the first write is written as others are."""
    rng = np.random.default_rng(5)
    shapes = {"a": (700, 500), "b": (1, 3), "c": (400, 333), "d": (5,)}
    dtypes = {"a": np.float32, "b": np.complex128, "c": np.int16, "d": np.bool_}
    tree = {name: random_array(rng, shape, dtypes[name]) for name, shape in shapes.items()}
    direct = []

    def pwrite(descriptor, data, offset, call=os.pwrite):
        if fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_DIRECT:
            direct.append(len(data))
            assert offset % 4096 == len(data) % 4096 == 0
            if refuses:
                raise OSError(errno.EINVAL, "Invalid argument")
        return call(descriptor, data, offset)

    with mock.patch("os.pwrite", pwrite):
        series = checkpoints.Series(tmp_path, asynchronous=True)
        for step in (1, 2):
            series.save(step, tree)
        series.wait()
    if not direct:
        pytest.skip(f"{tmp_path} is on a file system without O_DIRECT")
    for name, array in series.load(tree).items():
        same_bits(array, tree[name])
    with checkpoints.open(series.folder(2)) as source:
        source.verify()
    (shard,) = series.folder(2).glob("shard-*")
    with safe_open(shard, framework="np") as file:
        same_bits(file.get_tensor("c"), tree["c"])


@pytest.mark.parametrize("size", [0, 1, BLOCK - 1, BLOCK, 3 * BLOCK + 7])
def test_checksums_with_and_without_the_interpreters_lock(size):
    """The same numbers, and those of RFC 3720."""
    data = np.random.default_rng(size).integers(0, 256, size + 3, dtype=np.uint8)[3:]
    unlocked = checksums.checksums(data)
    with mock.patch.object(checksums, "_unlocked", lambda: None):
        assert checksums.checksums(data) == unlocked and len(unlocked) == -(-size // BLOCK)
    zeros, counted = np.zeros(32, np.uint8), np.arange(32, dtype=np.uint8)
    assert [*checksums.checksums(zeros), *checksums.checksums(counted)] == [0x8A9136AA, 0x46DD794E]


def test_threads_go_on_while_checksums_are_made():
    """Another thread takes the interpreter's lock as often as it likes."""
    if checksums._unlocked() is None:
        pytest.skip("google-crc32c is here without its library")
    data, taken, are_made = np.zeros(64 << 20, np.uint8), 0, False

    def make():
        nonlocal are_made
        for _ in range(10):  # of 3 ms each
            checksums.checksums(data)
        are_made = True

    thread = threading.Thread(target=make)
    thread.start()
    while not are_made:
        time.sleep(0)
        taken += 1
    thread.join()
    # With the lock: about one each 5 ms.
    assert taken > 20


def test_replicas_are_written_once_and_by_all(tmp_path):
    array = np.zeros((1024, 1024), np.float32)
    made = {"big": devices(4).put(array, place(P(), shoal.Mesh(a=4), array))}
    made |= {f"small{i}": np.zeros(100, np.float32) for i in range(8)}
    checkpoints.save(tmp_path, made)
    sizes = [path.stat().st_size for path in tmp_path.glob("shard-*")]
    assert len(sizes) == 4 and max(sizes) - min(sizes) < 2000
    assert array.nbytes < sum(sizes) < array.nbytes + 8 * 400 + 4 * 3000


def test_the_package_safetensors_alone_reads_it(tmp_path):
    """As docs/guide/Checkpoints.md says: pieces lie row-major between the cuts, in these shards."""
    rng = np.random.default_rng(3)
    tree = {"a": random_array(rng, (7, 11), np.float32), "b": random_array(rng, (5,), np.int16)}
    made = {"a": devices(4).put(tree["a"], place(P("x", "y"), shoal.Mesh(x=2, y=2), tree["a"]))}
    checkpoints.save(tmp_path, made | {"b": tree["b"]}, metadata={"note": "hello"})
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["metadata"] == {"note": "hello"}
    whole = np.zeros((7, 11), np.float32)
    entry = manifest["arrays"]["a"]
    assert entry["cuts"] == [[0, 4, 7], [0, 6, 11]]
    shards = iter(entry["shards"])
    for r0, r1 in zip(entry["cuts"][0], entry["cuts"][0][1:]):
        for c0, c1 in zip(entry["cuts"][1], entry["cuts"][1][1:]):
            file = tmp_path / manifest["shards"][next(shards)]["file"]
            with safe_open(file, framework="np") as shard:
                whole[r0:r1, c0:c1] = shard.get_tensor(f"a[{r0}:{r1},{c0}:{c1}]")
    same_bits(whole, tree["a"])
    file = manifest["shards"][manifest["arrays"]["b"]["shards"][0]]["file"]
    with safe_open(tmp_path / file, framework="np") as shard:
        same_bits(shard.get_tensor("b"), tree["b"])


def test_files_of_hugging_face(tmp_path):
    rng = np.random.default_rng(4)
    tree = {
        "model.wi": random_array(rng, (6, 40), ml_dtypes.bfloat16),
        "model.wo": random_array(rng, (40, 6), np.float32),
    }
    for number, (name, array) in enumerate(tree.items()):
        save_file({name: array}, tmp_path / f"model-{number}.safetensors", {"format": "pt"})
    index = {"metadata": {"total_size": 1}, "weight_map": {n: f"model-{i}.safetensors" for i, n in enumerate(tree)}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    loaded = checkpoints.load(tmp_path, tree)
    for name, array in tree.items():
        same_bits(loaded[name], array)
    made = {"model.wi": devices(3).put(tree["model.wi"], place(P(None, "a"), shoal.Mesh(a=3), tree["model.wi"]))}
    same_bits(checkpoints.load(tmp_path, made, partial=True)["model.wi"], tree["model.wi"])
    with pytest.raises(InputError, match=r"has an unknown model.wo \(1 in all\)"):
        checkpoints.load(tmp_path, made)
    # An index, a file, and a folder of files without an index.
    same_bits(checkpoints.load(tmp_path / "model.safetensors.index.json", tree)["model.wo"], tree["model.wo"])
    with checkpoints.open(tmp_path / "model-1.safetensors") as source:
        assert source.arrays["model.wo"].shape == (40, 6) and source.metadata == {"format": "pt"}
        same_bits(source.read("model.wo", (slice(3, 9), slice(None))), tree["model.wo"][3:9])
    (tmp_path / "model.safetensors.index.json").unlink()
    with checkpoints.open(tmp_path) as source:
        assert source.arrays.keys() == tree.keys()


def test_folders_of_files_that_are_not_whole_or_not_one(tmp_path):
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": "1.safetensors", "b": "2.safetensors"}}))
    save_file({"a": np.zeros(3)}, tmp_path / "1.safetensors")
    with pytest.raises(CheckpointError, match=r"2\.safetensors: is missing \(b\)"):
        checkpoints.open(tmp_path)
    save_file({"a": np.ones(3)}, tmp_path / "2.safetensors")
    with pytest.raises(CheckpointError, match=r"2\.safetensors: has no b, which the index says it has"):
        checkpoints.open(tmp_path)
    (tmp_path / "fp16.safetensors.index.json").write_text(index.read_text())
    with pytest.raises(InputError, match="has 2 indices: open one of fp16.safetensors.index.json, model"):
        checkpoints.open(tmp_path)
    for path in tmp_path.glob("*.json"):
        path.unlink()
    with pytest.raises(InputError, match="1.safetensors and 2.safetensors both have a: open one of them"):
        checkpoints.open(tmp_path)


def test_archives_of_numpy(tmp_path):
    tree = {"a": np.arange(12.0).reshape(3, 4), "b": np.int32(7)}
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "x.npz", **tree)
        with checkpoints.open(tmp_path / "x.npz") as source:
            assert source.arrays["a"].shape == (3, 4)
            same_bits(source.read("a", (slice(1, 2), slice(2, 4))), tree["a"][1:2, 2:4])
            same_bits(checkpoints.load(source, tree)["b"], tree["b"])


def test_archives_with_pickles_other_bytes_and_other_files(tmp_path):
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.savez(tmp_path / "x.npz", big=array.astype(">f4"), bad=np.array([{}], object))
    with zipfile.ZipFile(tmp_path / "x.npz", "a") as archive:
        archive.writestr("README", "no array")
    with checkpoints.open(tmp_path / "x.npz") as source:
        assert source.arrays.keys() == {"big", "bad"}
        same_bits(checkpoints.load(source, {"big": array}, partial=True)["big"], array)
        with pytest.raises(CheckpointError, match="x.npz: .*allow_pickle=False"):
            source.read("bad")


def test_a_tree_that_is_an_array_and_keys_of_any_type(tmp_path):
    checkpoints.save(tmp_path / "one", np.arange(3))
    same_bits(checkpoints.load(tmp_path / "one", np.arange(3)), np.arange(3))
    state = shoal.train.init({"w": [np.ones(2, np.float32)]}, shoal.optim.adamw(1e-3))
    checkpoints.save(tmp_path / "state", state)
    loaded = checkpoints.load(tmp_path / "state", state)
    assert type(loaded) is type(state)
    with checkpoints.open(tmp_path / "state") as source:
        assert {"step", "params/w/0", "optimizer/0/count"} < source.arrays.keys()


@pytest.mark.parametrize(
    "tree, message",
    [
        ({"a": np.zeros(2), "b": np.zeros(3)}, r"has no b \(1 in all\)"),
        ({}, r"has an unknown a \(1 in all\)"),
        ({"a": np.zeros(3)}, r"a is float64\[2\], expected float64\[3\]"),
        ({"a": np.zeros(2, np.float32)}, r"a is float64\[2\], expected float32\[2\]"),
    ],
)
def test_what_is_loaded_is_checked(tmp_path, tree, message):
    checkpoints.save(tmp_path, {"a": np.zeros(2)})
    with pytest.raises(InputError, match=message):
        checkpoints.load(tmp_path, tree)


@pytest.mark.parametrize(
    "tree, metadata, message",
    [
        ({"a/b": np.zeros(2), "a": {"b": np.zeros(3)}}, {}, "two arrays would both be called a/b"),
        ({"a": np.zeros(2, "datetime64[s]")}, {}, "a: elements of type datetime64.* cannot be saved"),
        ({"a": "text"}, {}, "a: elements of type <U4 cannot be saved"),
        ({"a": object()}, {}, "a: object is no array"),
        ({"__crc32c__": np.zeros(2)}, {}, "an array cannot be called __crc32c__"),
        ({"__metadata__": np.zeros(2)}, {}, "an array cannot be called __metadata__"),
        ({"a": np.zeros(2)}, {"f": test_archives_of_numpy}, "metadata: .*not JSON serializable"),
        ({"a": np.zeros(2)}, {"f": float("nan")}, "metadata: .*not JSON compliant"),
    ],
)
def test_what_is_saved_is_checked(tmp_path, tree, metadata, message):
    with pytest.raises(InputError, match=message):
        checkpoints.save(tmp_path / "c", tree, metadata=metadata)
    assert not (tmp_path / "c").exists()


def test_arrays_of_the_other_order_of_bytes(tmp_path):
    tree = {"x": np.arange(4, dtype=">f4"), "z": np.arange(3, dtype=">c16")}
    checkpoints.save(tmp_path, tree)
    loaded = checkpoints.load(tmp_path, tree)
    for name, array in tree.items():
        assert loaded[name].dtype.isnative and np.array_equal(loaded[name], array)


def test_masked_arrays_are_not_saved_without_their_masks(tmp_path):
    tree = {"x": {"y": np.ma.masked_array(np.zeros(2), [True, False])}}
    for save in (checkpoints.save, train.save):
        with pytest.raises(InputError, match="x/y: a masked array: files know no masks"):
            save(tmp_path / "state", tree)
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_checkpoint(tmp_path):
    with pytest.raises(FileNotFoundError):
        checkpoints.open(tmp_path / "none")
    with pytest.raises(CheckpointError, match="is no checkpoint: it has no manifest.json"):
        checkpoints.open(tmp_path)
    for name, content in (
        ("a.npz", b"PK" + bytes(50)), ("b.npz", b""), ("c.safetensors", b""),
        ("d.safetensors", bytes(7)), ("e.safetensors", (1 << 60).to_bytes(8, "little")),
        ("f.safetensors", (2).to_bytes(8, "little") + b"[]"),
        ("g.safetensors", (90).to_bytes(8, "little") + b'{"x":{"dtype":"F32","shape":[4],"data_offsets":[0,12]}}'.ljust(90) + bytes(12)),
        ("h.safetensors", (90).to_bytes(8, "little") + b'{"x":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}'.ljust(90) + bytes(12)),
    ):  # fmt: skip
        (tmp_path / name).write_bytes(content)
        with pytest.raises(CheckpointError, match=f"{name}: is damaged, or no"):
            checkpoints.open(tmp_path / name)


def test_series_keep_and_find(tmp_path):
    series = checkpoints.Series(tmp_path / "run", keep_last=2, keep_every=30)
    like = {"x": np.zeros(3)}
    assert series.load(like) is like and series.steps() == []
    for step in range(10, 80, 10):
        series.save(step, {"x": np.full(3, float(step))})
    assert series.steps() == [30, 60, 70]
    assert series.load(like)["x"][0] == 70
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        "step-00000030", "step-00000060", "step-00000070",
    ]  # fmt: skip
    with checkpoints.open(series.folder(30)) as source:
        assert source.metadata == {"step": 30}
    with pytest.raises(InputError, match="keep_last: expected an integer from 1 to 2147483647 or None, got 0"):
        checkpoints.Series(tmp_path, keep_last=0)
    for step, message in ((-1, "expected at least 0, got -1"), (80.0, "expected an integer, got 80.0")):
        with pytest.raises(InputError, match=f"save: step: {message}"):
            series.save(step, like)
    series.save(np.int64(80), like)
    assert series.steps() == [30, 60, 70, 80]


def test_a_root_that_cannot_be_read_is_not_an_empty_one(tmp_path):
    """A run would begin anew."""
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError):
        checkpoints.Series(tmp_path / "file").load({"x": np.zeros(3)})
    series = checkpoints.Series(tmp_path)
    with mock.patch("os.listdir", side_effect=PermissionError(13, "Permission denied", str(tmp_path))):
        with pytest.raises(PermissionError):
            series.load({"x": np.zeros(3)})


def test_files_of_others_stay(tmp_path):
    (tmp_path / "shard-1.safetensors").write_text("of somebody")
    checkpoints.save(tmp_path, {"x": np.zeros(3)})
    checkpoints.save(tmp_path, {"x": np.ones(3)})
    assert (tmp_path / "shard-1.safetensors").read_text() == "of somebody"
    assert len(list(tmp_path.iterdir())) == 3
    other = tmp_path / "other"
    other.mkdir()
    (other / "manifest.json").write_text('{"name": "a page"}')
    with pytest.raises(InputError, match=r"other/manifest\.json: is not of a checkpoint, and would be replaced"):
        checkpoints.save(other, {"x": np.zeros(3)})
    assert [path.name for path in other.iterdir()] == ["manifest.json"]


def test_a_series_stays_where_it_was(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    series = checkpoints.Series("run", asynchronous=True)
    with mock.patch("os.fsync"):
        series.save(1, {"x": np.zeros(3)})
        monkeypatch.chdir("/")
        series.wait()
        series.save(2, {"x": np.zeros(3)})
        series.wait()
    assert checkpoints.Series(tmp_path / "run").steps() == [1, 2]


def test_saving_in_the_background_takes_a_copy(tmp_path):
    """What is changed behind `save` is not what is saved; the next one waits for the one before."""
    series = checkpoints.Series(tmp_path, asynchronous=True)
    array = np.zeros(1 << 20)
    for step in (1, 2, 3):
        array[:] = step
        series.save(step, {"x": array})
    array[:] = -1
    series.wait()
    assert series.poll() and series.steps() == [1, 2, 3]
    for step in (1, 2, 3):
        assert (checkpoints.load(series.folder(step), {"x": array})["x"] == step).all()


def test_errors_of_the_background_come_with_the_next_call(tmp_path):
    series = checkpoints.Series(tmp_path, asynchronous=True)
    with mock.patch("os.pwrite", side_effect=OSError(28, "No space left on device")):
        series.save(1, {"x": np.zeros(3)})
        with pytest.raises(OSError, match="No space left on device.*step-00000001/shard-00000"):
            series.wait()
    assert series.poll() and series.steps() == [] and list(tmp_path.iterdir()) == []
    series.save(2, {"x": np.zeros(3)})
    series.close()
    assert series.steps() == [2]


UNASKED = """
import sys, numpy as np
from shoal import checkpoints
def main():
    checkpoints.Series(sys.argv[1], asynchronous=True).save(1, {"x": np.arange(1 << 20)})
main()
"""


def test_a_save_in_the_background_that_nobody_asks_for(tmp_path):
    """Of one process it ends with the program; of several it would need them all, and they are told."""
    with mock.patch.dict(os.environ, {"PYTHONPATH": os.pathsep.join(PATHS)}):
        ended = run(sys.executable, "-c", UNASKED, tmp_path / "one").expect_success()
        assert ended.stderr == ""
        assert checkpoints.Series(tmp_path / "one").steps() == [1]
        (tmp_path / "file").write_text("")
        ended = run(sys.executable, "-c", UNASKED, tmp_path / "file").expect_success()
        assert "file/step-00000001: is no checkpoint: " in ended.stderr and "File exists" in ended.stderr
        if TARGET == "cpu":
            ended = run("mpirun", "-n", 2, sys.executable, "-c", UNASKED, tmp_path / "two").expect_success()
            assert "step-00000001: is no checkpoint: the program ended without Series.poll" in ended.stderr
            assert checkpoints.Series(tmp_path / "two").steps() == []


@pytest.mark.skipif(TARGET != "cpu", reason="jobs run programs for CPUs")
def test_ranks_of_a_job(tmp_path):
    """The cases of checkpoint_ranks.py; what four ranks have saved this process loads."""
    with mock.patch.dict(os.environ, {"PYTHONPATH": os.pathsep.join(PATHS)}):
        ended = run("mpirun", "-n", 4, sys.executable, SUPPORT / "checkpoint_ranks.py", tmp_path)
    assert ended.expect_success().stdout.count("passed") == 4
    expected = np.arange(7 * 300, dtype=np.float32).reshape(7, 300)
    loaded = checkpoints.load(tmp_path / "job", {"x": expected, "y": np.zeros(5, np.int32)})
    same_bits(loaded["x"], expected)


def test_importing_shoal_does_not_need_the_checksums(tmp_path):
    """Those who save no checkpoints need no package for them."""
    script = "import sys; sys.modules['google_crc32c'] = None; import shoal, numpy\n"
    script += f"shoal.checkpoints.save({str(tmp_path)!r}, numpy.zeros(3))"
    environment = mpi_environment() | {"PYTHONPATH": os.pathsep.join(PATHS)}
    ended = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert "checkpoints need the package google-crc32c: pip install google-crc32c" in ended.stderr
