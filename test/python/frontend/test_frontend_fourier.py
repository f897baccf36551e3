# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fourier transforms by the frontend and by NumPy."""

import numpy as np
import pytest

from frontend_testing import assert_same, evaluate, shoal
from shoal import TraceError, TraceTypeError
from shoal.frontend.tracing import trace_program

RNG = np.random.default_rng(11)
X = RNG.standard_normal((3, 5, 4)).astype(np.float32)
Y = RNG.standard_normal((3, 5, 4)).astype(np.float32)


def halves(z):
    return z.real, z.imag


def test_transforms(tmp_path):
    def run(x, y):
        return {
            "last": shoal.fft(x, y),
            "inverse": shoal.fft(x, y, 1, inverse=True),
            "real": shoal.rfft(x, 0),
            "integers": shoal.rfft((x * 8).astype("int32")),
            "back": shoal.irfft(x, y),
            "odd": shoal.irfft(x, y, 7, -1),
        }

    actual = evaluate(tmp_path, run, X, Y)
    z = X + 1j * Y
    expected = {
        "last": halves(np.fft.fft(z)),
        "inverse": halves(np.fft.ifft(z, axis=1)),
        "real": halves(np.fft.rfft(X, axis=0)),
        "integers": halves(np.fft.rfft(np.trunc(X * 8))),
        "back": [np.fft.irfft(z)],
        "odd": [np.fft.irfft(z, 7)],
    }
    for name, values in expected.items():
        found = actual[name] if len(values) == 2 else [actual[name]]
        for got, wanted in zip(found, values):
            assert_same(name, got, wanted, np.float32)


@pytest.mark.parametrize(
    "program, error, message",
    [
        (lambda x: shoal.rfft(x, 3), TraceError, "rfft: "),
        (lambda x: shoal.irfft(x, x, 9), TraceError, "9 real numbers have 5 elements of a trans"),
        (lambda x: shoal.fft(x, x[:, :2]), TraceError, "fft: "),
        (lambda x: shoal.rfft(x[:, :, :0]), TraceError, "has no elements"),
        (lambda x: shoal.rfft(x.astype("bfloat16")), TraceTypeError, "float32 or float64"),
    ],
)
def test_errors(program, error, message):
    with pytest.raises(error, match=message):
        trace_program(program, (X,), None)
