# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Executables as files."""

import io
import json
import os
import pickle
import random
import stat
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from executable_cases import SCALED, scaled_inputs, scaled_outputs
from paths import PATHS

import shoal
from shoal.executable import CallStructure
from shoal.files import replace_file


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "scaled.shoal"
    structure = CallStructure({"tuple": ["*", "*"]}, {"tuple": ["*", {"dict": {"s": "*"}}]})
    shoal.compile_text(SCALED, combine_bytes=0, structure=structure).save(path)
    return path


def test_a_file_holds_all_of_it(saved):
    exe = shoal.load(saved)
    inputs = scaled_inputs()
    y, total = exe.run((inputs["x"], inputs["w"]))
    np.testing.assert_array_equal(y, scaled_outputs(**inputs)["y"])
    np.testing.assert_array_equal(total["s"], scaled_outputs(**inputs)["sum"])
    assert exe.text == SCALED and exe.options.combine_bytes == 0
    assert exe.stats["devices"] == 4 and "spmd.all_reduce" in exe.spmd()


def test_pickles(saved):
    exe = pickle.loads(pickle.dumps(shoal.load(saved)))
    assert [tensor.name for tensor in exe.inputs] == ["x", "w"]


def test_files_go_with_the_executable(saved):
    exe = shoal.load(saved)
    folder = exe.program.parent
    assert folder.exists()
    del exe
    assert not folder.exists()


def test_other_files(saved, tmp_path):
    other = tmp_path / "other.shoal"
    for content in (b"", b"not a zip", saved.read_bytes()[:1000]):
        other.write_bytes(content)
        with pytest.raises(shoal.ShoalError, match="other.shoal: not an executable that Shoal"):
            shoal.load(other)
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("program.json", "{}")
    with pytest.raises(shoal.ShoalError, match="not an executable that Shoal saved"):
        shoal.load(other)
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("program.json", json.dumps({"format": 99}))
    with pytest.raises(shoal.ShoalError, match="expected format 1 but got 99"):
        shoal.load(other)
    with pytest.raises(FileNotFoundError):
        shoal.load(tmp_path / "none.shoal")


def members_of(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


@pytest.fixture(scope="module")
def small(saved):
    """Parts of a file whose programs are short: damage hits all parts alike."""
    return {**members_of(saved), "program": b"program", "program.so": b"library"}


def damage(content, random):
    """Bytes flipped, cut off, repeated or overwritten, often where the directory is."""
    place = random.randrange(len(content)) if random.random() < 0.5 else -random.randrange(1, 400)
    place %= len(content)
    match random.randrange(4):
        case 0:
            return content[:place]
        case 1:
            return content[:place] + bytes([random.randrange(256)]) + content[place + 1 :]
        case 2:
            return content[:place] + random.randbytes(8) + content[place + 8 :]
        case _:
            return content[:place] + content[place // 2 :]


def test_damaged_files(small, tmp_path):
    content = zipped(small)
    refused = 0
    for seed in range(600):
        damaged = damage(content, random.Random(seed))
        path = tmp_path / "damaged.shoal"
        path.write_bytes(damaged)
        try:
            assert shoal.load(path).text == SCALED
        except shoal.ShoalError as error:
            assert "damaged.shoal: not an executable that Shoal saved" in str(error)
            refused += 1
    assert refused > 400


def places_in(tree):
    """(container, key) of everything in a tree of JSON."""
    keys = list(tree) if isinstance(tree, dict) else range(len(tree))
    for key in keys:
        yield tree, key
        if isinstance(tree[key], (dict, list)):
            yield from places_in(tree[key])


DEEP = json.loads("[" * 500 + "]" * 500)
OTHERS = [None, True, -1, 0, 2**70, 1.5, "f32", "*", [], [[]], {}, {"tuple": ["*"]}, DEEP]


def test_replaced_values(small, tmp_path):
    """What a file says of itself is checked before it is believed."""
    refused = 0
    for seed in range(600):
        draw = random.Random(seed)
        metadata = json.loads(small["program.json"])
        container, key = draw.choice(list(places_in(metadata)))
        if draw.random() < 0.2:
            del container[key]
        else:
            container[key] = draw.choice(OTHERS)
        path = tmp_path / "damaged.shoal"
        path.write_bytes(zipped({**small, "program.json": json.dumps(metadata)}))
        try:
            exe = shoal.load(path)
        except shoal.ShoalError as error:
            assert "damaged.shoal: " in str(error)
            refused += 1
            continue
        assert repr(exe) and exe.options.to_native() and exe.devices > 0
    assert refused > 200


@pytest.mark.parametrize(
    "change, message",
    [
        ({"options": {"tf32": 1}}, "options.tf32: unexpected 1"),
        ({"options": {"no_such": 1}}, "options: unknown 'no_such'"),
        ({"source": None}, "source: unexpected None"),
        ({"structure": [{"tuple": ["*"]}, "*"]}, "structure: 1 arrays for 2 inputs"),
        ({"structure": [{"set": ["*"]}, "*"]}, "structure of inputs: unexpected {'set': "),
        ({"structure": ["*"]}, r"structure: expected a pair or null but got \['\*'\]"),
        ({"description": {"name": "f"}}, "description.devices: missing"),
    ],
)
def test_what_is_wrong_is_named(small, tmp_path, change, message):
    metadata = {**json.loads(small["program.json"]), **change}
    (tmp_path / "a.shoal").write_bytes(zipped({**small, "program.json": json.dumps(metadata)}))
    with pytest.raises(shoal.ShoalError, match=f"a.shoal: .*: {message}"):
        shoal.load(tmp_path / "a.shoal")


@pytest.mark.parametrize("codes, place", [("i5", "codes"), ([], "codes"), ("i4", "dtype")])
def test_codes_are_bytes_of_a_known_type(small, tmp_path, codes, place):
    metadata = json.loads(small["program.json"])
    metadata["description"]["inputs"][0]["codes"] = codes
    (tmp_path / "a.shoal").write_bytes(zipped({**small, "program.json": json.dumps(metadata)}))
    with pytest.raises(shoal.ShoalError, match=rf"inputs\[0\]\.{place}: unexpected"):
        shoal.load(tmp_path / "a.shoal")


def test_shapes_that_no_memory_holds(small, tmp_path):
    for shape, message in [([2**40, 2**40], "no memory holds shape"), ([8], "but local_shape")]:
        metadata = json.loads(small["program.json"])
        metadata["description"]["inputs"][0]["shape"] = shape
        (tmp_path / "a.shoal").write_bytes(zipped({**small, "program.json": json.dumps(metadata)}))
        with pytest.raises(shoal.ShoalError, match=rf"description.inputs\[0\]: .*{message}"):
            shoal.load(tmp_path / "a.shoal")


def test_a_replaced_program_is_a_run_error(small, tmp_path):
    (tmp_path / "a.shoal").write_bytes(zipped(small))
    with pytest.raises(shoal.RunError):
        shoal.load(tmp_path / "a.shoal").run((*scaled_inputs().values(),), timeout=60)


LIMITED = """
import resource, sys, shoal
exe = shoal.load(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
exe.save(sys.argv[1])
"""


def test_a_save_that_fails_leaves_what_was_there(saved, tmp_path):
    path = tmp_path / "kept.shoal"
    path.write_bytes(saved.read_bytes())
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(PATHS)}
    ended = subprocess.run(
        [sys.executable, "-c", LIMITED, path], env=environment, capture_output=True, text=True
    )
    assert ended.returncode == 1 and "File too large" in ended.stderr
    assert path.read_bytes() == saved.read_bytes()
    assert os.listdir(tmp_path) == ["kept.shoal"]


def umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_a_file_is_replaced_with_its_mode_through_links(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    target.chmod(0o640)
    link.symlink_to(target)
    replace_file(link, b"new")
    assert link.is_symlink() and target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    replace_file(tmp_path / ("n" * 255), b"")
    assert stat.S_IMODE((tmp_path / ("n" * 255)).stat().st_mode) == 0o666 & ~umask()
    replace_file("/dev/null", b"gone")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


FORKED = """
import os, sys, shoal
exe = shoal.load(sys.argv[1])
child = os.fork()
if not child:
    sys.exit()
os.waitpid(child, 0)
print(exe.program.exists())
"""


def test_a_forked_child_leaves_its_parents_files(saved):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(PATHS)}
    ended = subprocess.run(
        [sys.executable, "-c", FORKED, saved], env=environment, capture_output=True, text=True
    )
    assert ended.stdout == "True\n", ended.stderr
