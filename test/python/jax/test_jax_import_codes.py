# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elements of few bits, which programs have as codes: conversions, arithmetic, moves."""

import re

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax
from jax.sharding import PartitionSpec as P

import shoal
import shoal.jax
from jax_import_testing import auto_mesh, run

INTEGERS = ("int2", "uint2", "int4", "uint4")
FLOATS = (
    "float4_e2m1fn",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
)
RNG = np.random.default_rng(0)


def dtype(name):
    return np.dtype(getattr(ml_dtypes, name))


def evaluate(program, *arguments):
    """The function's results in the interpreter, as arrays of JAX's types."""
    traced = jax.jit(program, keep_unused=True).trace(*arguments)
    types = [(t.shape, t.dtype) for t in jax.tree.leaves(traced.out_info)]
    names = [f"r{i}" for i in range(len(types))]
    text = shoal.jax.import_stablehlo(traced.lower())
    for name in names:
        text = re.sub(r'shoal.name = "result[^"]*"', f'shoal.name = "{name}"', text, count=1)
    inputs = {f"a{i}": np.asarray(a) for i, a in enumerate(arguments)}
    for i in range(len(arguments)):
        text = re.sub(r'shoal.name = "(?!a\d|r\d)[^"]*"', f'shoal.name = "a{i}"', text, count=1)
    results = run(text, inputs, names)
    return [results[n].view(d).reshape(s) for n, (s, d) in zip(names, types)]


def codes_of(array):
    """The codes; all NaNs are one where a type has several."""
    codes = array.view(np.uint8).copy()
    numbers = array.astype(np.float32)
    if array.dtype.name in ("float8_e3m4", "float8_e4m3"):
        codes[np.isnan(numbers)] = 0xFF
    return codes


def rounded(numbers, wanted):
    """The codes by ml_dtypes, which made more of numbers next to the smallest scale before 0.7."""
    codes = codes_of(numbers.astype(wanted))
    if wanted == dtype("float8_e8m0fnu"):
        single = numbers.astype(np.float32)
        codes[(single > 2.0**-127) & (single < 1.5 * 2.0**-127)] = 0
    return codes


def bits_of(name):
    return int(re.match(r"u?[a-z]+(\d)", name)[1])


def all_codes(name):
    return np.arange(1 << bits_of(name), dtype=np.uint8).view(dtype(name))


@pytest.mark.parametrize("name", (*INTEGERS, *FLOATS))
def test_every_code_is_its_number(name):
    codes = all_codes(name)
    single, brain, half, number = evaluate(
        lambda x: (
            x.astype(jnp.float32),
            x.astype(jnp.bfloat16),
            x.astype(jnp.float8_e5m2).astype(jnp.float32),
            lax.convert_element_type(x, jnp.int32),
        ),
        codes,
    )
    expected = codes.astype(np.float32)
    np.testing.assert_array_equal(single, expected)
    np.testing.assert_array_equal(np.signbit(single), np.signbit(expected))
    as_brain = expected.astype(ml_dtypes.bfloat16).astype(np.float32)
    np.testing.assert_array_equal(brain.astype(np.float32), as_brain)
    np.testing.assert_array_equal(half, expected.astype(ml_dtypes.float8_e5m2).astype(np.float32))
    fits = np.abs(expected) < 2**31
    np.testing.assert_array_equal(number[fits], expected[fits].astype(np.int32))


@pytest.mark.parametrize("name", FLOATS)
def test_every_half_is_rounded_as_in_ml_dtypes(name):
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    brains = np.arange(1 << 16, dtype=np.uint16).view(ml_dtypes.bfloat16)
    wanted = dtype(name)
    found = evaluate(lambda x, y: (x.astype(wanted), y.astype(wanted)), halves, brains)
    with np.errstate(all="ignore"):
        for codes, numbers in zip(found, (halves, brains), strict=True):
            np.testing.assert_array_equal(codes_of(codes), rounded(numbers, wanted))


def midpoints(name):
    """The numbers of a type, those half way between two, and some that are too large."""
    numbers = all_codes(name).astype(np.float32)
    numbers = np.sort(numbers[np.isfinite(numbers)])
    middle = numbers[1:] / 2 + numbers[:-1] / 2
    return np.concatenate([numbers, middle, numbers * 1.25, numbers * 2, [0.0, np.inf, np.nan]])


@pytest.mark.parametrize("name", FLOATS)
def test_wide_floats_are_rounded_once(name):
    """f64 next to a number in f32 as its neighbour in f32, which is nearest to the same code."""
    wanted, single = dtype(name), midpoints(name).astype(np.float32)
    double, ends = single.astype(np.float64), (-9e9, 9e9)
    nearest = [single, *(np.nextafter(single, np.float32(end)) for end in ends)]
    double = np.concatenate([double, *(np.nextafter(double, end) for end in ends)])
    words = RNG.integers(0, 1 << 32, 20000, np.uint32).view(np.float32)
    single = np.concatenate([*nearest, words])
    with np.errstate(all="ignore"), jax.enable_x64(True):
        found = evaluate(lambda x, y: (x.astype(wanted), y.astype(wanted)), double, single)
        expected = rounded(single, wanted)
    np.testing.assert_array_equal(codes_of(found[0]), expected[: double.size])
    np.testing.assert_array_equal(codes_of(found[1]), expected)


def limited(numbers, name):
    info = ml_dtypes.iinfo(dtype(name))
    return np.clip(np.nan_to_num(np.trunc(numbers), nan=0), int(info.min), int(info.max))


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_wrap_and_floats_are_limited(name):
    wanted = dtype(name)
    numbers = np.arange(-300, 300, dtype=np.int32)
    floats = np.array([0.4, -0.6, 7.5, 8, -8.9, 100, -100, np.nan, np.inf, -np.inf], np.float32)
    wrapped, unsigned, found, bools = evaluate(
        lambda n, x: (
            n.astype(wanted),
            n.astype(jnp.uint8).astype(wanted),
            x.astype(wanted),
            (n > 0).astype(wanted),
        ),
        numbers,
        floats,
    )
    mask = (1 << bits_of(name)) - 1
    np.testing.assert_array_equal(wrapped.view(np.uint8), numbers & mask)
    np.testing.assert_array_equal(unsigned.view(np.uint8), numbers & mask)
    np.testing.assert_array_equal(found.astype(np.float32), limited(floats, name))
    np.testing.assert_array_equal(bools.astype(np.int32), numbers > 0)


def wrap(numbers, name):
    mask = (1 << bits_of(name)) - 1
    return (np.asarray(numbers).astype(np.int64) & mask).astype(np.uint8).view(dtype(name))


def integer_ops(x, y):
    return (
        x + y,
        x - y,
        x * y,
        lax.max(x, y),
        lax.min(x, y),
        x & y,
        x ^ y,
        ~x,
        lax.neg(x),
        lax.div(x, y),
        lax.rem(x, y),
        lax.shift_left(x, y),
        lax.shift_right_logical(x, y),
        lax.shift_right_arithmetic(x, y),
        lax.population_count(x),
        lax.clz(x),
        x < y,
        x == y,
    )


def expected_ops(a, b, name):
    bits, mask = bits_of(name), (1 << bits_of(name)) - 1
    is_signed = name.startswith("i")
    amount, word = b & mask, a & mask
    signed = word - ((word >> (bits - 1)) << bits)
    quotient = np.where(b == 0, -1, np.trunc(a / np.where(b == 0, 1, b))).astype(np.int64)
    rest = np.where(b == 0, a, np.fmod(a, np.where(b == 0, 1, b)))
    inside = amount < bits
    shift = np.where(inside, amount, 0)
    ones = np.array([bin(w).count("1") for w in word])
    zeros = np.array([bits - int(w).bit_length() for w in word])
    numbers = [a + b, a - b, a * b, np.maximum(a, b), np.minimum(a, b), a & b, a ^ b, ~a, -a]
    numbers += [quotient, rest, np.where(inside, a << shift, 0), np.where(inside, word >> shift, 0)]
    numbers += [signed >> np.minimum(amount, bits - 1), ones, zeros]
    assert is_signed or (a >= 0).all()
    return [*(wrap(n, name) for n in numbers), a < b, a == b]


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_of_few_bits(name):
    codes = all_codes(name)
    x, y = (g.ravel() for g in np.meshgrid(codes, codes))
    found = evaluate(integer_ops, x, y)
    expected = expected_ops(x.astype(np.int64), y.astype(np.int64), name)
    for number, (actual, wanted) in enumerate(zip(found, expected, strict=True)):
        np.testing.assert_array_equal(actual.view(np.uint8), wanted.view(np.uint8), f"{number}")


def float_ops(x, y):
    return x + y, x * y, x - y, lax.max(x, y), lax.neg(x), lax.exp(x), x < y, lax.abs(x)


@pytest.mark.parametrize("name", ["float8_e4m3", "float8_e5m2fnuz", "float4_e2m1fn"])
def test_floats_are_computed_in_f32_and_rounded(name):
    codes = all_codes(name)
    x, y = codes[RNG.integers(0, len(codes), 2000)], codes[RNG.integers(0, len(codes), 2000)]
    a, b = x.astype(np.float32), y.astype(np.float32)
    with np.errstate(all="ignore"):
        expected = [a + b, a * b, a - b, np.maximum(a, b), -a, np.exp(a)]
        expected = [*(e.astype(dtype(name)) for e in expected), a < b, np.abs(a).astype(dtype(name))]
    for actual, wanted in zip(evaluate(float_ops, x, y), expected, strict=True):
        np.testing.assert_array_equal(actual.astype(np.float32), wanted.astype(np.float32))


def reductions(x):
    zero = np.array(0, x.dtype)
    return (
        lax.reduce(x, zero, lax.add, (0,)),
        lax.reduce(x, np.array(-8, x.dtype), lax.max, (1,)),
        lax.reduce(x, zero, lambda a, b: a * b + a + b, (0,)),
        lax.dot_general(x, x, (((1,), (1,)), ((), ())), preferred_element_type=jnp.int32),
        lax.sort(x, dimension=1),
        lax.cumsum(x.astype(jnp.int32), 1).astype(x.dtype),
        lax.reduce_window(x, zero, lax.add, (2, 2), (1, 1), "VALID"),
    )


def test_reductions_of_int4():
    x = wrap(RNG.integers(-8, 8, (6, 10)), "int4")
    n = x.astype(np.int64)
    folded = np.zeros(10, np.int64)
    for row in n:  # of a region of several ops each is of 4 bits
        folded = wrap(folded * row + folded + row, "int4").astype(np.int64)
    windows = n[:-1, :-1] + n[1:, :-1] + n[:-1, 1:] + n[1:, 1:]
    expected = [n.sum(0), n.max(1), folded, n @ n.T, np.sort(n, 1), n.cumsum(1), windows]
    for number, (found, wanted) in enumerate(zip(evaluate(reductions, x), expected, strict=True)):
        wanted = wanted if number == 3 else wrap(wanted, "int4").astype(np.int64)
        np.testing.assert_array_equal(found.astype(np.int64), wanted, f"{number}")


def control(x, n):
    def body(i, state):
        return lax.dynamic_update_slice(state, state[1:3] + x[2:4], (i,))

    looped = lax.fori_loop(0, 3, body, x)
    chosen = lax.cond(n[0] > 0, lambda v: v[::-1], lambda v: v, x)
    picked = jnp.where(n > 1, x, jnp.flip(x))
    return looped, chosen, picked, jax.jit(lambda v: v + v)(x), x[n], jnp.concatenate([x, x[:2]])


def test_int4_in_control_flow():
    x, n = wrap(RNG.integers(-8, 8, 6), "int4"), np.array([3, 0, 5, 1, 2, 4], np.int32)
    v = x.astype(np.int64)
    looped = v.copy()
    for i in range(3):
        looped[i : i + 2] = wrap(looped[1:3] + v[2:4], "int4").astype(np.int64)
    expected = [looped, v[::-1], np.where(n > 1, v, v[::-1]), v + v, v[n], np.r_[v, v[:2]]]
    for found, wanted in zip(evaluate(control, x, n), expected, strict=True):
        np.testing.assert_array_equal(found.view(np.uint8), wrap(wanted, "int4").view(np.uint8))


def test_bits_are_packed_and_unpacked():
    words = RNG.integers(-(2**31), 2**31, 5).astype(np.int32)
    bytes = RNG.integers(0, 256, 6).astype(np.uint8)

    def casts(words, bytes):
        fours = lax.bitcast_convert_type(words, jnp.int4)
        twos = lax.bitcast_convert_type(bytes, jnp.uint2)
        return (
            fours,
            lax.bitcast_convert_type(bytes, jnp.uint4),
            twos,
            lax.bitcast_convert_type(fours, jnp.int32),
            lax.bitcast_convert_type(twos, jnp.int8),
            lax.bitcast_convert_type(bytes, jnp.float8_e4m3fnuz),
        )

    for found, wanted in zip(
        evaluate(casts, words, bytes), jax.jit(casts)(words, bytes), strict=True
    ):
        np.testing.assert_array_equal(found.view(np.uint8), np.asarray(wanted).view(np.uint8))


@pytest.mark.parametrize("name", ["int4", "uint2", "float8_e4m3fnuz", "float8_e3m4", "float4_e2m1fn"])
@pytest.mark.parametrize("shape", [(), (1,), (5,), (3, 100), (0, 2)])
def test_constants(name, shape):
    codes = all_codes(name)
    table = codes[RNG.integers(0, len(codes), shape)]
    same = np.broadcast_to(codes[len(codes) // 2 + 1], shape)
    found = evaluate(lambda: (jnp.asarray(table), jnp.asarray(same)))
    for actual, wanted in zip(found, (table, same)):
        np.testing.assert_array_equal(actual.view(np.uint8), np.array(wanted).view(np.uint8))


def ops_in(text):
    return set(re.findall(r'"((?:arith|math|shoal|spmd)\.\w+)"', text))


def test_who_moves_elements_moves_bytes():
    x = wrap(RNG.integers(-8, 8, (4, 6)), "int4")
    text = shoal.jax.import_stablehlo(
        jax.jit(lambda x: jnp.concatenate([x.T.reshape(3, 8)[:, ::-1]] * 2)[1:3]).lower(x)
    )
    assert not any(op.startswith("arith.") for op in ops_in(text) - {"arith.constant"})
    assert 'shoal.codes = "i4"' in text


def test_callbacks_are_refused():
    def printed(x):
        jax.debug.print("{}", x)
        return x

    x = wrap(np.arange(4), "int4")
    with pytest.raises(shoal.UnsupportedError, match="of elements of i4, which callbacks do not get"):
        shoal.jax.compile(printed, x)


MESH = auto_mesh((4,), ("d",))


def quantised(w, s, x):
    return x @ (w.astype(jnp.float32) * s)


def test_weights_of_int4_on_devices():
    w = wrap(RNG.integers(-8, 8, (16, 8)), "int4")
    s, x = (RNG.standard_normal(n).astype(np.float32) for n in ((8,), (4, 16)))
    with jax.sharding.use_abstract_mesh(MESH):
        exe = shoal.jax.compile(quantised, w, s, x, in_shardings=(P("d"), None, None))
    assert "w: int4[16, 8]" in repr(exe)
    found = exe.run(w, s, x)
    np.testing.assert_allclose(found, x @ (w.astype(np.float32) * s), rtol=1e-5, atol=1e-5)


def test_a_cache_of_few_bits_stays_on_the_devices():
    @shoal.jax.jit(mesh=MESH, in_shardings=(P("d"), None, None), donate_argnums=0)
    def step(cache, row, place):
        return lax.dynamic_update_slice(cache, row.astype(cache.dtype)[:, None], (0, place))

    for name in ("int4", "float8_e4m3fnuz"):
        cache = expected = np.zeros((8, 6), dtype(name))
        for place in (1, 3, 4):
            row = np.linspace(-9, 9, 8).astype(np.float32)
            cache = step(cache, row, np.int32(place))
            expected = expected.copy()
            limits = limited(row, name) if name == "int4" else row
            expected[:, place] = limits.astype(expected.dtype)
        assert cache.dtype == dtype(name)
        np.testing.assert_array_equal(
            np.asarray(cache).view(np.uint8), expected.view(np.uint8)
        )


def in_regions(x):
    def body(x):
        whole = lax.all_gather(x, "d", tiled=True)
        moved = lax.ppermute(x, "d", [(i, (i + 1) % 4) for i in range(4)])
        return whole.astype(jnp.float32).sum(keepdims=True), moved, lax.psum(x, "d")

    specs = (P("d"), P("d"), P())
    return jax.shard_map(body, mesh=MESH, in_specs=P("d"), out_specs=specs, check_vma=False)(x)


def test_collectives_of_int4():
    x = wrap(RNG.integers(-8, 8, 32), "int4")
    exe = shoal.jax.compile(in_regions, x)
    total, moved, summed = exe.run(x)
    n = x.astype(np.int64)
    np.testing.assert_array_equal(total, np.full(4, n.sum()))
    np.testing.assert_array_equal(moved.astype(np.int64), np.roll(n, 8))
    expected = wrap(n.reshape(4, 8).sum(0), "int4")
    np.testing.assert_array_equal(summed.view(np.uint8), expected.view(np.uint8))
    sent = exe.stats["bytes_sent_per_device"]
    assert sent["all_gather"] == 24 and sent["collective_permute"] == 8
