# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of devices that need none: free memory, layouts, messages, a job's ranks."""

import gc
import os
import random
import re
import sys
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from executable_cases import DONATED, ENDLESS, UNEVEN, identity
from paths import PATHS, SUPPORT
from shoal_testing import ROOT, run

import shoal
from shoal.devices import Placement, memory, wire
from shoal.devices.addresses import AddressSpace
from shoal.devices.memory import Memory

PAGE = os.sysconf("SC_PAGESIZE")
MIB = 1 << 20

# Free addresses


def test_free_ranges_are_joined():
    space = AddressSpace(100)
    a, b, c = space.take(10), space.take(20), space.take(30)
    assert (a, b, c) == (0, 10, 30)
    assert space.give(b, 20) == (10, 30)
    assert space.give(a, 10) == (0, 30)
    assert space.take(25) == 0
    assert space.give(c, 30) == (25, 100)
    assert space.take(80) is None and space.take(75) == 25 and space.take(1) is None


def test_large_ranges_come_from_the_other_end():
    space = AddressSpace(10 * AddressSpace.SMALL)
    assert space.take(2 * AddressSpace.SMALL) == 8 * AddressSpace.SMALL
    assert space.take(64) == 0


def test_ranges_never_overlap():
    generator, size = random.Random(0), 1 << 20
    space, taken = AddressSpace(size), {}
    for _ in range(5000):
        if taken and generator.random() < 0.5:
            begin = generator.choice(list(taken))
            space.give(begin, taken.pop(begin))
        elif (begin := space.take(count := generator.choice([64, 640, 4096, 100_000]))) is not None:
            end = begin + count
            assert 0 <= begin and end <= size
            assert all(end <= other or other + more <= begin for other, more in taken.items())
            taken[begin] = count
    for begin, count in taken.items():
        joined = space.give(begin, count)
    assert joined == (0, size)


# Memory


def resident(memory):
    return os.fstat(memory.file).st_blocks * 512


def test_blocks_of_the_same_size_are_used_again():
    memory = Memory()
    block = memory.allocate(3 * MIB)
    begin = block.begin
    del block
    assert memory.in_use == 0 and memory.kept == 3 * MIB
    assert memory.allocate(MIB).begin != begin
    assert memory.allocate(3 * MIB).begin == begin


def test_what_is_too_much_goes_back_to_the_system(monkeypatch):
    monkeypatch.setattr(memory, "_always_kept", lambda: 4 * MIB)
    own = Memory()
    blocks = [own.allocate(MIB) for _ in range(16)]
    assert resident(own) == 16 * MIB
    del blocks
    assert own.kept == 4 * MIB and resident(own) == 4 * MIB
    for size in range(1, 64):  # no two of one size
        own.allocate(size * 16 * PAGE)
    assert own.kept <= 5 * MIB and resident(own) <= 5 * MIB
    small = [own.allocate(64) for _ in range(1000)]
    assert len({block.begin for block in small}) == 1000


def test_memory_that_is_used_in_every_step_is_kept(monkeypatch):
    """Results of a step while those of the one before are still there."""
    monkeypatch.setattr(memory, "_always_kept", lambda: 0)
    own = Memory()
    state, begins = own.allocate(8 * MIB), set()
    for _ in range(10):
        state = own.allocate(8 * MIB)
        begins.add(state.begin)
    assert len(begins) == 2 and resident(own) == 16 * MIB


def test_more_memory_than_there_is():
    with pytest.raises(shoal.RunError, match="not enough memory: .* bytes for arrays on devices"):
        Memory().allocate(1 << 50)


def test_processes_with_limits(tmp_path):
    """The file is smaller where the address space or files are."""
    code = """
import resource, sys
limit = getattr(resource, sys.argv[1])
resource.setrlimit(limit, (int(sys.argv[2]), int(sys.argv[2])))
import numpy as np, shoal
exe = shoal.load(sys.argv[3])
with shoal.launch(1) as devices:
    loaded = devices.load(exe)
    print(loaded.run([np.arange(2, dtype=np.float32)])[0].tolist())
    try:
        shape, dtype = (3 << 30,), np.dtype(np.int8)
        whole = shoal.devices.Placement(shape, shape, dtype, "", [(slice(0, *shape),)])
        devices.put(np.broadcast_to(np.int8(1), shape), whole)
    except shoal.RunError as error:
        print(error)
"""
    path = tmp_path / "same"
    shoal.compile_text(identity("f32", 1)).save(path)
    for limit, size in (("RLIMIT_AS", 4 << 30), ("RLIMIT_FSIZE", 64 << 20)):
        with mock.patch.dict(os.environ, {"PYTHONPATH": os.pathsep.join(PATHS)}):
            ended = run(sys.executable, "-c", code, limit, size, path).expect_success()
        assert ended.stdout.startswith("[0.0, 1.0]\nnot enough memory: ")


def test_views_hold_their_block():
    own = Memory()
    block = own.allocate(128)
    own.bytes[block.begin : block.begin + 128] = 7
    view = block.view(block.begin + 64, 8)
    assert block.has_views and view.sum() == 56 and not view.flags.writeable
    part = view.view(np.float32)[1:]
    del block, view
    gc.collect()
    assert own.in_use == 128
    del part
    assert own.in_use == 0


def test_a_child_frees_nothing():
    own = Memory()
    block = own.allocate(MIB)
    own.bytes[block.begin] = 7
    child = os.fork()
    if child == 0:
        del block
        ended = own.in_use == MIB
        try:
            own.allocate(1)
            ended = False
        except shoal.RunError:
            pass
        os._exit(0 if ended else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert own.bytes[block.begin] == 7


# Placements


def rows_of(*bounds):
    return [(slice(*bound),) for bound in bounds]


def test_equal_placements_are_one():
    def make(sharding="s", rows=((0, 2), (2, 4))):
        return Placement((4,), (2,), np.dtype(np.float32), sharding, rows_of(*rows))

    assert make() is make() and len({make(), make()}) == 1
    assert make("other") is not make() and make("other").bare is make().bare
    assert make(rows=((2, 4), (0, 2))).bare is not make().bare
    assert str(make()) == "float32[4] s"


@pytest.mark.parametrize(
    ("shape", "local", "rows", "is_whole", "is_stacked", "speakers"),
    [
        ((4,), (2,), ((0, 2), (2, 4)), False, True, (0, 1)),
        ((4,), (2,), ((2, 4), (0, 2)), False, False, (0, 1)),
        ((4,), (4,), ((0, 4), (0, 4)), True, False, (0,)),
        ((4,), (4,), ((0, 4),), True, True, (0,)),
        ((3,), (2,), ((0, 2), (2, 3)), False, False, (0, 1)),
        ((1,), (1,), ((0, 1), (1, 1)), False, False, (0, 1)),
        ((4,), (2,), ((0, 2), (0, 2), (2, 4), (2, 4)), False, False, (0, 2)),
    ],
)
def test_placements(shape, local, rows, is_whole, is_stacked, speakers):
    placement = Placement(shape, local, np.int8, "", rows_of(*rows))
    assert (placement.is_whole, placement.is_stacked, placement.speakers) == (is_whole, is_stacked, speakers)


# Messages


def test_both_ends_speak_of_the_same_messages():
    text = (ROOT / "lib/Runtime/Worker/Messages.h").read_text()
    names = re.findall(r"^  (\w+) = (\d+),$", text, re.M)
    own = {message.name.title().replace("_", ""): message.value for message in wire.Message}
    assert {name: int(number) for name, number in names} == own
    assert re.search(r"kVersion = (\d+)", text)[1] == str(wire.VERSION)


def test_messages_come_in_pieces():
    sent = [wire.pack(wire.Message.DONE, [1, 2]), wire.pack(wire.Message.FAILED, tail=b"no")]
    for size in (1, 7, 100):
        splitter, content, received = wire.Splitter(), b"".join(sent), []
        for begin in range(0, len(content), size):
            received += splitter.split(content[begin : begin + size])
        assert received == [(8, sent[0][16:]), (9, b"no")]
    assert wire.words_of(received[0][1]) == (1, 2)


def test_a_worker_alone_says_what_it_is():
    worker = Path(shoal.devices.meeting.WORKER)
    assert "Usage: shoal-worker" in run(worker, "--help").expect_success().stdout
    assert "Usage" in run(worker).stderr
    assert "cannot reach the parent" in run(worker, "--parent=nobody").stderr


# A job


def test_a_step_of_a_job_that_does_not_end(tmp_path):
    """The job ends: no rank can be called back from a step."""
    shoal.compile_text(ENDLESS).save(tmp_path / "endless")
    code = """
import sys, numpy as np, shoal
loaded = shoal.devices.devices_of(2).load(shoal.load(sys.argv[1]))
loaded.run([np.ones(2, np.float32)], timeout=0.3)
"""
    with mock.patch.dict(os.environ, {"PYTHONPATH": os.pathsep.join(PATHS)}):
        ended = run("mpirun", "-n", 2, sys.executable, "-c", code, tmp_path / "endless")
    assert ended.code != 0
    assert re.search(r"error: \w+ did not end in 0\.3 s: rank [01] ends the job", ended.stderr)


NESTED = """
import numpy as np, shoal
from executable_cases import CALLING
from shoal.executable.host_calls import HostFunction
inner = shoal.jit(lambda x: x + 1, mesh=shoal.Mesh(d=4))
def nested(x):
    inner(np.ones(4, np.float32))
loaded = shoal.devices.devices_of(4).load(shoal.compile_text(CALLING, host_functions={0: HostFunction(nested)}))
loaded.run([np.ones(4, np.float32)], timeout=120)
"""


def test_a_function_of_a_jobs_rank_cannot_use_its_devices():
    """The other rank takes no part in it: it would wait for ever."""
    with mock.patch.dict(os.environ, {"PYTHONPATH": os.pathsep.join([*PATHS, str(SUPPORT)])}):
        ended = run("mpirun", "-n", 4, sys.executable, "-c", NESTED, timeout=100)
    assert ended.code != 0
    assert "a function that a program calls cannot use the program's devices" in ended.stderr


# By ranks, how many random results.
RESULTS = {2: 8, 4: 16} if "SHOAL_LONG" not in os.environ else {2: 200, 4: 200}


@pytest.mark.parametrize("ranks", RESULTS)
@pytest.mark.parametrize("starts", ["mpirun", "pool"])
def test_random_results_are_read_back(starts, ranks):
    """What lies beside each other in a pool's memory is on several ranks in a job."""
    command = ["mpirun", "-n", ranks] if starts == "mpirun" else []
    with mock.patch.dict(os.environ, {"PYTHONPATH": os.pathsep.join(PATHS)}):
        ended = run(*command, sys.executable, SUPPORT / "result_ranks.py", ranks, RESULTS[ranks], timeout=3600)
    assert ended.expect_success().stdout.count("passed") == (ranks if command else 1)


def test_the_ranks_of_a_job(tmp_path):
    """The cases of job_ranks.py, which prints the name of each that has passed."""
    paths = [tmp_path / "donated", tmp_path / "uneven"]
    for path, text in zip(paths, (DONATED, UNEVEN)):
        shoal.compile_text(text).save(path)
    ranks = SUPPORT / "job_ranks.py"
    with mock.patch.dict(os.environ, {"PYTHONPATH": os.pathsep.join(PATHS)}):
        ended = run("mpirun", "-n", 4, sys.executable, ranks, *paths)
    assert ended.expect_success().stdout.count("passed") == 4
