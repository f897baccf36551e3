# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that were compiled before: what comes back of them, and when they are made again.

test/Tools/shoalc-cache.test has folders that are not used, and damaged files.
"""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from paths import PATHS, ROOT

import shoal
from shoal._native import clear_cache, find_cache_directory

PROGRAM = """
shoal.mesh @mesh = <["d" = 4]>
func.func @main(%x: tensor<64x512xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"d"}, {}]>},
                %w: tensor<512x8xf32>) -> tensor<64x8xf32> {
  %t = math.tanh %x : tensor<64x512xf32>
  %h = shoal.einsum "BM,MH->BH" %t, %w : (tensor<64x512xf32>, tensor<512x8xf32>) -> tensor<64x8xf32>
  return %h : tensor<64x8xf32>
}
"""

REPEATED = """
shoal.mesh @mesh = <["data" = 4]>
#whole = #shoal.sharding<@mesh, [{}, {}]>
func.func @gradient(%x: tensor<64x512xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"data"}, {}]>},
                    %w: tensor<512x512xf32> {shoal.sharding = #whole})
    -> (tensor<512x512xf32> {shoal.sharding = #whole}) {
  %y = shoal.einsum "BM,MH->BH" %x, %w : (tensor<64x512xf32>, tensor<512x512xf32>) -> tensor<64x512xf32>
  %g = shoal.einsum "BM,BH->MH" %x, %y : (tensor<64x512xf32>, tensor<64x512xf32>) -> tensor<512x512xf32>
  return %g : tensor<512x512xf32>
}
"""


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SHOAL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def entries(cache):
    return sorted(cache.glob("llvmcache-*"))


def is_from_cache(executable):
    return executable.stats["compile_seconds"].keys() == {"cache"}


def files(executable):
    return executable.program.read_bytes(), executable.library.read_bytes()


def test_second_compilation_is_the_first(cache):
    first, second = shoal.compile_text(PROGRAM), shoal.compile_text(PROGRAM)
    assert (is_from_cache(first), is_from_cache(second)) == (False, True)
    assert files(first) == files(second)
    assert os.access(second.program, os.X_OK)
    for executable in (first, second):
        del executable.stats["compile_seconds"]
    assert first.stats == second.stats
    assert (first.inputs, first.outputs) == (second.inputs, second.outputs)
    x, w = np.ones((64, 512), np.float32), np.ones((512, 8), np.float32)
    (y,) = second.run([x, w], timeout=60).values()
    np.testing.assert_allclose(y, np.tanh(x) @ w, rtol=1e-5)


def test_a_copy_is_its_own(cache):
    """Whoever has an executable may write to its files."""
    for _ in range(2):
        executable = shoal.compile_text(PROGRAM)
        executable.program.write_bytes(b"")
    assert is_from_cache(third := shoal.compile_text(PROGRAM))
    assert files(third)[0].startswith(b"\x7fELF")


@pytest.mark.parametrize(
    "change",
    [
        {"source": "other.mlir"},
        {"combine_bytes": 1},
        {"flops_per_byte": 3.5},
        {"windowed_einsum_overlap": True},
        {"allow_replicated": ["x"]},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_is_another_program(cache, change):
    shoal.compile_text(PROGRAM)
    assert not is_from_cache(shoal.compile_text(PROGRAM, **change))
    assert is_from_cache(shoal.compile_text(PROGRAM, **change))


def test_a_machine_file_counts(cache, tmp_path):
    machine, text = tmp_path / "machine.toml", (ROOT / "machines/box.toml").read_text()
    for size in (4, 8):
        machine.write_text(text.replace("size = 2", f"size = {size}"))
        assert not is_from_cache(shoal.compile_text(PROGRAM, machine=str(machine)))
        assert is_from_cache(shoal.compile_text(PROGRAM, machine=str(machine)))


def test_linker_and_linked_files_count(cache, tmp_path, monkeypatch):
    linked = tmp_path / "linked.o"
    for symbol in ("a", "b"):
        subprocess.run(
            ["cc", "-xc", "-c", "-", "-o", linked], input=f"int {symbol};", text=True, check=True
        )
        assert not is_from_cache(shoal.compile_text(PROGRAM, link=linked))
        assert is_from_cache(shoal.compile_text(PROGRAM, link=linked))
    monkeypatch.setenv("OMPI_LDFLAGS", "-L/usr/lib/x86_64-linux-gnu/openmpi/lib")
    assert not is_from_cache(shoal.compile_text(PROGRAM, link=linked))
    # Another lld in front of the one that is there.
    lld = tmp_path / "bin" / "ld.lld"
    lld.parent.mkdir()
    lld.write_text('#!/bin/sh\nexec ld.lld-22 "$@"\n')
    lld.chmod(0o755)
    monkeypatch.setenv("PATH", f"{lld.parent}{os.pathsep}{os.environ['PATH']}")
    for expected in (False, True):
        assert is_from_cache(shoal.compile_text(PROGRAM, link=linked)) == expected
    assert len(entries(cache)) == 4


def test_warnings_come_again(cache):
    said = []
    for _ in range(2):
        with pytest.warns(shoal.CompileWarning, match="is computed 4 x an even split") as caught:
            executable = shoal.compile_text(REPEATED, flops_per_byte=1000, repeat_margin=1)
        said.append([str(warning.message) for warning in caught])
    assert is_from_cache(executable)
    assert said[0] == said[1]


def test_off(cache, monkeypatch, tmp_path):
    for options in ({"cache": False}, {"save_temps": tmp_path / "temps"}):
        assert not is_from_cache(shoal.compile_text(PROGRAM, **options))
    assert entries(cache) == []
    monkeypatch.setenv("SHOAL_CACHE", "off")
    assert find_cache_directory() == ""
    assert not is_from_cache(shoal.compile_text(PROGRAM))


def test_folder_by_default(monkeypatch, tmp_path):
    monkeypatch.delenv("SHOAL_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert find_cache_directory() == str(tmp_path / "shoal")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert find_cache_directory() == str(tmp_path / ".cache/shoal")


def test_processes_and_threads_at_the_same_time(cache):
    """Whoever comes second finds a whole file, or none."""
    script = f"""
import shoal
for _ in range(3):
    executable = shoal.compile_text({PROGRAM!r})
    assert executable.program.read_bytes().startswith(b"\\x7fELF")
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(PATHS)}
    processes = [subprocess.Popen([sys.executable, "-c", script], env=environment) for _ in range(3)]
    with ThreadPoolExecutor(3) as threads:
        made = list(threads.map(lambda _: files(shoal.compile_text(PROGRAM)), range(6)))
    assert [process.wait(timeout=60) for process in processes] == [0, 0, 0]
    assert all(contents == made[0] for contents in made)
    assert len(entries(cache)) == 1


def to_link(entry, tmp_path):
    entry.rename(tmp_path / "elsewhere")
    entry.symlink_to(tmp_path / "elsewhere")


def to_folder(entry, tmp_path):
    entry.unlink()
    entry.mkdir()


def to_pipe(entry, tmp_path):
    entry.unlink()
    os.mkfifo(entry, 0o600)


FOREIGN = {
    "a link": to_link,
    "a folder": to_folder,
    "a pipe": to_pipe,
    "of a group": lambda entry, _: entry.chmod(0o620),
    "of all": lambda entry, _: entry.chmod(0o602),
    "of somebody else": lambda entry, _: os.chown(entry, 1, -1),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_an_entry_that_may_be_of_others_is_not_run(cache, tmp_path, name):
    if name == "of somebody else" and os.geteuid() != 0:
        pytest.skip("only root gives files away")
    shoal.compile_text(PROGRAM)
    (entry,) = entries(cache)
    FOREIGN[name](entry, tmp_path)
    assert not is_from_cache(shoal.compile_text(PROGRAM))
    if name != "a folder":
        assert is_from_cache(shoal.compile_text(PROGRAM))


def test_clearing_leaves_files_of_others(cache):
    shoal.compile_text(PROGRAM)
    kept = [cache / "llvmcache-mine", cache / f"llvmcache-{'0' * 63}", cache / "llvmcache-new-x", cache / "notes"]
    for path in kept:
        path.write_text("mine")
    (cache / "llvmcache-new-0123456789ab").write_text("of a process that was killed")
    assert clear_cache(str(cache)) == 2
    assert all(path.read_text() == "mine" for path in kept)


def test_clearing(cache):
    shoal.compile_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(PATHS)}
    command = [sys.executable, "-m", "shoal", "--clear-cache"]
    for count in (1, 0):
        run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert run.stdout == f"removed {count} files of {cache}\n"
    assert not is_from_cache(shoal.compile_text(PROGRAM))
    assert clear_cache(str(cache / "none")) == 0


MODEL = """
import numpy as np, shoal
from shoal import P

def loss(x, w):
    y = shoal.einsum("ab,bc->ac", x, w)
    return shoal.sum(shoal.log(y))

def compile(**options):
    return shoal.compile(loss, (np.zeros((8, 16), np.float32), np.zeros((16, 4), np.float32)),
                         shoal.Mesh(x=2), in_shardings=(P("x"), None), **options)
"""


def compile_moved(folder, lines, name="model.py", **options):
    """MODEL, so many lines further down."""
    path = folder / name
    path.write_text("#\n" * lines + MODEL)
    names = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    return names["compile"](**options)


def told(executable):
    """All that a program tells of places."""
    metadata = json.dumps(executable._signature.description)
    return json.dumps([executable.stats["collective_list"], executable.stats["largest_buffers"], metadata])


@pytest.mark.parametrize("lines, name", [(1, "model.py"), (9, "model.py"), (95, "model.py"), (12345, "model.py"), (0, "other.py")])
def test_a_program_that_moved_is_found_and_tells_its_lines(cache, tmp_path, lines, name):
    compile_moved(tmp_path, 0)
    moved = compile_moved(tmp_path, lines, name)
    assert is_from_cache(moved)
    fresh = compile_moved(tmp_path, lines, name, cache=False)
    assert told(moved) == told(fresh) and f"{name}:{lines + 6}" in told(moved)
    library = moved.library.read_bytes()
    assert f"{name}:{lines + 6}".encode() in library
    x, w = -np.ones((8, 16), np.float32), np.ones((16, 4), np.float32)
    assert np.isnan(moved.run((x, w), timeout=60))


def test_other_changes_are_other_programs(cache, tmp_path):
    """What stands at one line, and what at two, is no matter of lines alone."""
    compile_moved(tmp_path, 0)
    path = tmp_path / "model.py"
    names = {}
    exec(compile(path.read_text().replace("log", "exp"), str(path), "exec"), names)
    assert not is_from_cache(names["compile"]())


def test_lines_in_a_programs_calls_are_compiled_anew(cache, tmp_path):
    """Of what is checked, or printed, the descriptor has the line."""
    x, w = -np.ones((8, 16), np.float32), np.ones((16, 4), np.float32)
    for lines in (0, 3):
        executable = compile_moved(tmp_path, lines, check_finite=True)
        assert not is_from_cache(executable)
        with pytest.raises(shoal.RunError, match=rf"math.log at \S*model.py:{lines + 7}:"):
            executable.run((x, w), timeout=60)


def test_messages_of_a_program_that_moved(cache):
    """By locations in a text of MLIR."""
    first = "-> tensor<64x512xf32>\n"
    for line in (7, 9, 4711):
        text = REPEATED.replace(first, f'-> tensor<64x512xf32> loc("model.py":{line}:3)\n')
        with pytest.warns(shoal.CompileWarning, match=rf"model.py:{line}:3"):
            executable = shoal.compile_text(text, flops_per_byte=1000, repeat_margin=1)
        assert is_from_cache(executable) == (line > 7)


@pytest.mark.parametrize("places", [("7:3", "8:9"), ("9:3", "9:9"), ("8:3", "7:9")])
def test_a_line_that_became_two_is_told_as_it_is(cache, places):
    """What names a line alone may be of either, and is made anew then."""

    def text(tanh, product):
        made = PROGRAM.replace("tensor<64x512xf32>\n  %h", f'tensor<64x512xf32> loc("model.py":{tanh})\n  %h // " \n')
        return made.replace("%h // \" \n", "// no \"string\n  %h").replace(
            "-> tensor<64x8xf32>\n  return", f'-> tensor<64x8xf32> loc("model.py":{product})\n  return'
        )

    shoal.compile_text(text("7:3", "7:9"))
    moved, fresh = shoal.compile_text(text(*places)), shoal.compile_text(text(*places), cache=False)
    assert told(moved) == told(fresh)
    assert f"model.py:{places[0]}" in told(moved) or f"model.py:{places[1]}" in told(moved)
