# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Devices that stay: programs on a pool, and the arrays that live there."""

import copy
import gc
import os
import pickle
import threading
import time
import warnings
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from executable_cases import (
    CALLING,
    DONATED,
    DOUBLED,
    SCALED,
    UNEVEN,
    identity,
    scaled_inputs,
    scaled_outputs,
)
from shoal_testing import expect_no_growth, needs_emulation, resources_of

import shoal
from shoal.devices import Placement, devices_of, turn
from shoal.executable.host_calls import HostFunction

COUNT = 4


@pytest.fixture(scope="module")
def pool():
    with shoal.launch(COUNT) as pool:
        yield pool


@pytest.fixture(scope="module")
def executables():
    return {text: shoal.compile_text(text) for text in (SCALED, UNEVEN, DONATED, DOUBLED)}


@pytest.fixture
def scaled(pool, executables):
    return pool.load(executables[SCALED])


@pytest.fixture
def donated(pool, executables):
    return pool.load(executables[DONATED])


def x_and_w():
    return list(scaled_inputs().values())


def expect_scaled(results, inputs):
    for result, expected in zip(results, scaled_outputs(*inputs).values(), strict=True):
        np.testing.assert_array_equal(result, expected)


# Steps


def test_steps_take_what_numpy_takes_and_what_they_made(scaled):
    x, w = x_and_w()
    expect_scaled(scaled.run([x, w]), (x, w))
    strided = [np.asfortranarray(x), np.repeat(w, 2)[::2]]
    expect_scaled(scaled.run(strided), (x, w))
    expect_scaled(scaled.run((x.tolist() and x.astype(">f4"), w)), (x, w))
    y, total = scaled.run([x, w])
    expect_scaled(scaled.run([y, w]), (x * w, w))
    expect_scaled(scaled.run([x, total]), (x, (x * w).sum(0)))
    np.testing.assert_array_equal(y, x * w)


def test_rows_that_do_not_exist(pool, executables):
    uneven = pool.load(executables[UNEVEN])
    x = np.arange(10, dtype=np.float32).reshape(5, 2)
    assert [part[0] for part in uneven.inputs[0].slices] == [
        slice(0, 2), slice(2, 4), slice(4, 5), slice(5, 5)
    ]  # fmt: skip
    for _ in range(3):
        y, total = uneven.run([x])
        np.testing.assert_array_equal(y, 2 * x)
        np.testing.assert_array_equal(total, 2 * x.sum(0))
    assert [shard.data.shape for shard in y.shards] == [(2, 2), (2, 2), (1, 2), (0, 2)]


@pytest.mark.parametrize(
    ("element", "dtype"),
    [("bf16", ml_dtypes.bfloat16), ("i1", np.bool_), ("f8E5M2", ml_dtypes.float8_e5m2)],
)
def test_types(pool, element, dtype):
    same = pool.load(shoal.compile_text(identity(element, COUNT)))
    x = (np.arange(2 * COUNT) % 2).astype(dtype)
    (y,) = same.run([x])
    assert y.dtype == dtype
    np.testing.assert_array_equal(y.numpy(), x)
    assert [shard.data.tolist() for shard in y.shards] == x.reshape(COUNT, 2).tolist()


def test_complex_numbers(pool):
    text = identity("f32", COUNT, ", shoal.complex")
    text = text.replace('[{"d"}]', '[{"d"}, {}]').replace("tensor<8xf32>", "tensor<8x2xf32>")
    same = pool.load(shoal.compile_text(text))
    x = np.arange(8) * (1 + 2j)
    (y,) = same.run([x.astype(np.complex64)])
    assert y.dtype == np.complex64 and y.shape == (8,)
    np.testing.assert_array_equal(y, x)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x, w: [x], r"expected 2 inputs \(x, w\) but got 1"),
        (lambda x, w: [x, w.astype(float)], 'input "w": expected float32 but got float64'),
        (lambda x, w: [x.T, w], r'input "x": expected shape \[8, 3\] but got \[3, 8\]'),
        (lambda x, w: [x, "w"], 'input "w"'),
        (lambda x, w: [x, None], 'input "w": expected float32 but got object'),
    ],
)
def test_inputs_that_do_not_fit(scaled, change, message):
    with pytest.raises(shoal.InputError, match=message):
        scaled.run(change(*x_and_w()))
    expect_scaled(scaled.run(x_and_w()), x_and_w())


def test_what_devices_cannot_load(pool):
    with pytest.raises(shoal.InputError, match="f is compiled for 2 devices, but there are 4"):
        pool.load(shoal.compile_text(identity("f32")))
    with pytest.raises(shoal.InputError, match="expected an Executable but got str"):
        pool.load(SCALED)
    for count in (0, True, 2.0):
        with pytest.raises(shoal.InputError, match="count: expected"):
            shoal.launch(count)


def test_a_program_is_loaded_once_and_goes_with_its_executable(pool):
    executable = shoal.compile_text(SCALED)
    library, loaded = executable.library, pool.load(executable)
    assert pool.load(executable) is loaded
    process = pool._workers._connections[0].process
    maps = Path(f"/proc/{process}/maps")
    assert str(library) in maps.read_text()
    del executable
    expect_scaled(loaded.run(x_and_w()), x_and_w())
    del loaded
    gc.collect()
    pool.load(shoal.compile_text(UNEVEN)).run([np.zeros((5, 2), np.float32)])
    assert str(library) not in maps.read_text()


def test_a_library_that_is_not_there(pool):
    executable = shoal.compile_text(SCALED)
    executable.library.unlink()
    with pytest.raises(shoal.RunError, match="No such file"):
        pool.load(executable)
    expect_scaled(pool.load(shoal.compile_text(SCALED)).run(x_and_w()), x_and_w())


def test_not_enough_memory(pool):
    text = SCALED.replace("8x3", f"{8 << 36}x3")
    with pytest.raises(shoal.RunError, match="not enough memory"):
        pool.load(shoal.compile_text(text))
    expect_scaled(pool.load(shoal.compile_text(SCALED)).run(x_and_w()), x_and_w())


def test_threads_take_turns(scaled):
    problems = []

    def work(scale):
        try:
            x, w = x_and_w()
            for _ in range(50):
                expect_scaled(scaled.run([scale * x, w]), (scale * x, w))
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(scale,)) for scale in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems


@needs_emulation
def test_programs_for_cuda_copy(pool):
    """On the emulated device; donated inputs hold the results, as on CPUs."""
    loaded = pool.load(shoal.compile_text(DONATED, "cuda", cuda_arch="emulated"))
    x, w = x_and_w()
    state = x
    for _ in range(3):
        expected = scaled_outputs(np.asarray(state).copy(), w)
        state, total = loaded.run([state, w])
        np.testing.assert_array_equal(state, expected["y"])
        np.testing.assert_array_equal(total, expected["sum"])


# Donated arrays


def test_donated_memory_is_used_again(pool, executables):
    loaded = pool.load(executables[DOUBLED])
    x = x_and_w()[0]
    given = state = pool.put(x, loaded.inputs[0])
    block = given._block
    for _ in range(3):
        (state,) = loaded.run([state])
        assert state._block is block
    assert given.is_deleted and (loaded.moves, loaded.copies) == (0, 0)
    np.testing.assert_array_equal(state, 8 * x)
    with pytest.raises(shoal.RunError, match=r'input "x": the array float32\[8, 3\].* was deleted'):
        loaded.run([given])
    with pytest.raises(shoal.RunError, match="was deleted"):
        given.numpy()
    assert "deleted" in repr(given)


def test_what_others_see_is_not_written_to(pool, donated):
    x, w = x_and_w()
    given = pool.put(x, donated.inputs[0])
    view, shard = given.numpy(), given.shards[1].data
    before = donated.copies
    y, _ = donated.run([given, w])
    assert given.is_deleted and donated.copies == before + 1
    np.testing.assert_array_equal(view, x)
    np.testing.assert_array_equal(shard, x[2:4])
    np.testing.assert_array_equal(y, x * w)
    kept = pool.put(x, donated.inputs[0])
    y, _ = donated.run([kept, w], donate=False)
    np.testing.assert_array_equal(kept, x)
    np.testing.assert_array_equal(y, x * w)


def test_an_array_that_is_given_twice(pool):
    sharding = 'shoal.sharding = #shoal.sharding<@mesh, [{"d"}]>'
    text = f"""
shoal.mesh @mesh = <["d" = {COUNT}]>
func.func @f(%x: tensor<8xf32> {{shoal.donated, {sharding}}}, %y: tensor<8xf32> {{{sharding}}})
    -> (tensor<8xf32> {{{sharding}}}, tensor<8xf32> {{{sharding}}}) {{
  %a = arith.addf %x, %x : tensor<8xf32>
  %b = arith.mulf %a, %y : tensor<8xf32>
  return %a, %b : tensor<8xf32>, tensor<8xf32>
}}
"""
    loaded = pool.load(shoal.compile_text(text))
    x = np.arange(8, dtype=np.float32)
    given = pool.put(x, loaded.inputs[0])
    a, b = loaded.run([given, given])
    np.testing.assert_array_equal(a, 2 * x)
    np.testing.assert_array_equal(b, 2 * x * x)
    assert given.is_deleted


def test_a_donated_array_that_moves_is_gone_as_well(pool, executables):
    loaded = pool.load(executables[DOUBLED])
    x = x_and_w()[0]
    whole = Placement((8, 3), (8, 3), x.dtype, "", [(slice(0, 8), slice(0, 3))] * COUNT)
    for donate in (False, True):
        given = pool.put(x, whole)
        np.testing.assert_array_equal(loaded.run([given], donate=donate)[0], 2 * x)
        assert given.is_deleted == donate


def test_devices_do_not_share_what_is_written_to(pool):
    """Each has all of it: one piece of memory does for what is read alone."""
    text = f"""
shoal.mesh @mesh = <["d" = {COUNT}]>
func.func @f(%x: tensor<3xf32> {{shoal.donated}}, %y: tensor<3xf32>) -> tensor<3xf32> {{
  %a = arith.addf %x, %y : tensor<3xf32>
  return %a : tensor<3xf32>
}}
"""
    loaded = pool.load(shoal.compile_text(text))
    x = np.arange(3, dtype=np.float32)
    read = pool.put(x, loaded.inputs[1])
    assert pool.shares_memory(read)
    given = pool.put(x, loaded.inputs[0])
    for _ in range(5):
        (given,) = loaded.run([given, read])
    np.testing.assert_array_equal(given, 6 * x)
    assert loaded.copies == 1  # of what `put` made, which knows of no step
    for shard in given.shards:
        np.testing.assert_array_equal(shard.data, 6 * x)


def test_arrays_that_move_are_counted(pool, scaled, executables):
    x, w = x_and_w()
    everywhere = [(slice(0, 8), slice(0, 3))] * COUNT
    whole = Placement((8, 3), (8, 3), np.dtype(np.float32), "", everywhere)
    before = scaled.moves
    expect_scaled(scaled.run([pool.put(x, whole), w]), (x, w))
    assert scaled.moves == before + 1
    with shoal.launch(COUNT) as other:
        elsewhere = other.put(x, scaled.inputs[0])
        expect_scaled(scaled.run([elsewhere, w]), (x, w))
    assert scaled.moves == before + 2
    # The processes are gone, the array is not.
    expect_scaled(scaled.run([elsewhere, w]), (x, w))


def grid(shape, cuts, order=range(COUNT)):
    """A placement that cuts each dimension into so many parts; devices may be in another order."""
    local = tuple(-(-size // cut) for size, cut in zip(shape, cuts))
    blocks = [
        tuple(
            slice(min(index * rows, size), min((index + 1) * rows, size))
            for index, rows, size in zip(indices, local, shape)
        )
        for indices in np.ndindex(*cuts)
    ]
    slices = [blocks[device % len(blocks)] for device in order]
    return Placement(shape, local, np.dtype(np.int32), str((cuts, *order)), slices)


def test_arrays_move_between_all_placements(pool):
    x = np.arange(35, dtype=np.int32).reshape(5, 7)
    cuts = ((1, 1), (4, 1), (1, 4), (2, 2), (2, 1), (1, 2))
    places = [grid(x.shape, cut) for cut in cuts] + [grid(x.shape, (2, 2), (3, 1, 0, 2))]
    for source in places:
        array = pool.put(x, source)
        for target in places:
            moved = pool.put(array, target)
            assert (moved is array) == (source is target)
            np.testing.assert_array_equal(moved, x)
            for shard in moved.shards:
                np.testing.assert_array_equal(shard.data, x[target.slices[shard.device]])
    with pytest.raises(shoal.InputError, match=r"expected shape \[7, 5\] but got \[5, 7\]"):
        pool.put(array, grid((7, 5), (1, 1)))
    scalars = pool.put(np.int32(7), scalar(np.int32))
    spread = Placement((), (), np.dtype(np.int32), "other", [()] * COUNT)
    assert int(pool.put(scalars, spread)) == 7


# Arrays


def test_arrays_are_read_as_numpy_reads_them(pool, scaled):
    x, w = x_and_w()
    y, total = scaled.run([x, w])
    assert (y.shape, y.ndim, y.size, y.nbytes, y.dtype) == ((8, 3), 2, 24, 96, np.float32)
    assert y.devices is pool and y.placement is scaled.outputs[0] and '"d"' in y.sharding
    assert len(y) == 8 and y[3, 1] == (x * w)[3, 1] and y.block_until_ready() is y
    assert [row.tolist() for row in y] == y.tolist() == (x * w).tolist()
    np.testing.assert_array_equal(np.asarray(y, float), x * w)
    np.testing.assert_array_equal(np.from_dlpack(y), x * w)
    np.testing.assert_array_equal(total[:2] + 1, (x * w).sum(0)[:2] + 1)
    assert str(total) == str((x * w).sum(0)) and "on 4 devices" in repr(total)
    for again in (pickle.loads(pickle.dumps(y)), copy.deepcopy(y)):
        np.testing.assert_array_equal(again, x * w)
    for array in (y.numpy(), y.shards[0].data, np.asarray(y)):
        with pytest.raises(ValueError, match="read-only|WRITEABLE"):
            array[...] = 0
    with pytest.raises(TypeError, match="len"):
        len(pool.put(np.float32(1), scalar(np.float32)))


def test_operators_make_arrays_of_numpy(scaled):
    x, w = x_and_w()
    y, total = scaled.run([x, w])
    for made in (y + y, 2 * y, y * np.float32(2), np.add(y, x * w), x * w + y):
        assert type(made) is np.ndarray
        np.testing.assert_array_equal(made, 2 * x * w)
    assert (total > 0).tolist() == [True, False, True] and abs(total).max() == 184
    assert np.sum(y) == (x * w).sum() and (y @ w == (x * w) @ w).all()
    with pytest.raises(TypeError):
        np.add(x, x, out=y)


def scalar(dtype):
    return Placement((), (), np.dtype(dtype), "", [()] * COUNT)


def test_scalars_are_numbers(pool):
    assert float(pool.put(1.5, scalar(np.float32))) == 1.5
    assert f"{pool.put(2, scalar(np.float32)):.2f}" == "2.00"
    three = pool.put(3, scalar(np.int32))
    assert int(three) == 3 and [0, 1, 2, 3][three] == 3 and bool(three) and three.item() == 3
    assert complex(pool.put(1j, scalar(np.complex64))) == 1j
    with pytest.raises(shoal.InputError, match='input "value": expected int32 but got float64'):
        pool.put(np.float64(1), scalar(np.int32))


def test_no_copy_where_one_piece_of_memory_has_all(pool, scaled):
    rows = np.arange(64 * COUNT, dtype=np.float32)
    parts = [(slice(64 * rank, 64 * rank + 64),) for rank in range(COUNT)]
    split = pool.put(rows, Placement((64 * COUNT,), (64,), rows.dtype, "split", parts))
    for array in (split, pool.put(rows[:3], scaled.inputs[1])):
        assert np.shares_memory(array.numpy(), array.numpy())
        assert np.shares_memory(array.numpy(), array.shards[0].data)
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.numpy().flags.writeable = True
    np.testing.assert_array_equal(split, rows)


def test_a_view_keeps_its_memory(pool, scaled):
    x, w = x_and_w()
    y, total = scaled.run([x, w])
    view = total.numpy()
    expected = view.copy()
    del y, total
    for scale in range(20):
        scaled.run([x * scale, w])
    np.testing.assert_array_equal(view, expected)


def test_devices_that_are_closed():
    pool = shoal.launch(2)
    same = pool.load(shoal.compile_text(identity("f32")))
    (y,) = same.run([np.arange(4, dtype=np.float32)])
    pool.close()
    pool.close()
    np.testing.assert_array_equal(y, np.arange(4))
    with pytest.raises(shoal.RunError, match="the devices are closed"):
        same.run([y])


def test_everything_shares_some_devices():
    pool = devices_of(2)
    assert devices_of(2) is pool and devices_of(1) is not pool
    pool.close()
    assert devices_of(2) is not pool
    for count in (1, 2):
        devices_of(count).close()


# Functions of this process


def calling(pool, function, text=CALLING):
    return pool.load(shoal.compile_text(text, host_functions={0: HostFunction(function)}))


def test_functions_of_this_process(pool):
    loaded = calling(pool, lambda x: [x + 1])
    x = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(loaded.run([x])[0], x + 1)


def test_a_function_that_fails_is_the_cause(pool, scaled):
    def fail(x):
        raise KeyError("no answer")

    loaded = calling(pool, fail)
    x = np.arange(4, dtype=np.float32)
    for _ in range(2):
        with pytest.raises(shoal.RunError, match='calling.mlir:8:3: "answer": KeyError') as raised:
            loaded.run([x])
        assert isinstance(raised.value.__cause__, KeyError)
    starts = pool.starts
    expect_scaled(scaled.run(x_and_w()), x_and_w())
    assert pool.starts == starts


def test_a_function_that_is_interrupted(pool, scaled):
    def interrupt(x):
        raise KeyboardInterrupt

    loaded = calling(pool, interrupt)
    starts = pool.starts
    with pytest.raises(KeyboardInterrupt):
        loaded.run([np.arange(4, dtype=np.float32)])
    expect_scaled(scaled.run(x_and_w()), x_and_w())
    assert pool.starts == starts


def test_a_function_cannot_use_the_programs_devices(pool, scaled):
    def nested(x):
        scaled.run(x_and_w())

    with pytest.raises(shoal.RunError, match="cannot use the program's devices"):
        calling(pool, nested).run([np.arange(4, dtype=np.float32)])


def test_a_thread_that_a_function_may_wait_for_says_so(pool, scaled, monkeypatch):
    """It runs as soon as the function has ended; one that waits for it never does."""
    monkeypatch.setattr(turn, "PATIENCE", 0.2)
    shown, made = [], []

    def wait(x):
        other.start()
        end = time.monotonic() + 20
        while not shown and time.monotonic() < end:
            time.sleep(0.05)
        return [x]

    monkeypatch.setattr(warnings, "showwarning", lambda message, *_: shown.append(str(message)))
    other = threading.Thread(target=lambda: made.append(scaled.run(x_and_w())), name="other")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        calling(pool, wait).run([np.arange(4, dtype=np.float32)])
    other.join(60)
    assert shown and "thread other waits for a step that a function of this process" in shown[0]
    expect_scaled(made[0], x_and_w())


def test_what_is_printed_comes_in_order(pool, capsys):
    print_sum = 'shoal.print "sum {0}"(%s) : (tensor<3xf32>) -> ()'
    loaded = pool.load(shoal.compile_text(SCALED.replace("return", f"{print_sum}\n  return")))
    for scale in (1, 2):
        loaded.run([scale * x_and_w()[0], x_and_w()[1]])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 and "84" in lines[0] and "-368" in lines[1], lines


# Nothing grows


def seconds_of(process):
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.alone
def test_devices_that_wait_sleep(pool):
    processes = [connection.process for connection in pool._workers._connections]
    before = sum(map(seconds_of, processes))
    time.sleep(0.5)
    assert sum(map(seconds_of, processes)) - before <= 0.04


def test_nothing_grows(pool, executables):
    """Neither in this process nor in the workers, whether memory is donated or not."""
    doubled, uneven = pool.load(executables[DOUBLED]), pool.load(executables[UNEVEN])
    state, x = np.zeros((8, 3), np.float32), np.zeros((5, 2), np.float32)
    processes = [os.getpid(), *(c.process for c in pool._workers._connections)]
    before = {}
    for step in range(2000):
        (state,) = doubled.run([state])
        if step % 20 == 0:
            y, _ = uneven.run([x])
            assert y.numpy().sum() == 0
        if step == 500:
            gc.collect()
            in_use = pool.memory.in_use
            before = {process: resources_of(process) for process in processes}
    gc.collect()
    assert pool.memory.in_use <= in_use
    for process in processes:
        expect_no_growth(before[process], resources_of(process))
