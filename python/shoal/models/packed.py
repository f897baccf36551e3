# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights of few bits, as published files have them: floats of 4 or 8 bits, and scales of blocks of them.

    X_blocks, X_scales                  mxfp4 (gpt-oss): OCP Microscaling Formats 1.0, E2M1 in blocks of 32 along the
                                        products' sums, two in a byte, the earlier in its low bits; E8M0 scales.
                                        X is [E, in, out] of blocks [E, out, in / 32, 16] and scales [E, out, in / 32].
    X, X_scale_inv (or _scales_inv,     float8: X times the scale of its block. Blocks are of `weight_block_size` rows
    _scale)                             and columns (DeepSeek-V3, arXiv 2412.19437, section 3.3.2: 128 x 128), the last
                                        of a dimension smaller where it does not divide; or whole dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from shoal.errors import InputError
from shoal.frontend import dtypes

__all__ = ["Unpacked", "from_mxfp4", "from_scaled"]

_BLOCKS, _SCALES = "_blocks", "_scales"
# What the scales of float8 are called, by DeepSeek and transformers; all are factors.
_SCALED = ("_scale_inv", "_scales_inv", "_scale")
# The type of what is unpacked where nobody says one: of this tensor, which is in no file packed.
_REFERENCE = "model.embed_tokens.weight"
_BLOCK_BYTES = 16  # two elements each


class Unpacked(Mapping[str, np.ndarray]):
    """A file's tensors as floats of 16 bits or more; each is unpacked when it is asked for.

    dtype: of those that are packed; None is that of "model.embed_tokens.weight". Of float8 the product with its
    scale is made in float32 and rounded to it once; mxfp4 is exact in all floats of 16 bits but float16.
    InputError names the tensor, and what `where` says of it, for floats of 8 bits and integers without scales, and
    for scales that are missing, of another shape, or no numbers.
    """

    def __init__(
        self, tensors: Mapping[str, Any], block: tuple[int, int], dtype: np.dtype | None = None,
        where: Callable[[str], str] = lambda name: "",
    ):  # fmt: skip
        self._tensors, self._block, self._dtype, self._where = tensors, block, dtype, where
        self._mxfp4 = {name.removesuffix(_BLOCKS) for name in tensors if name.endswith(_BLOCKS)}
        self._scale_names = {
            name.removesuffix(suffix): name
            for name in tensors for suffix in _SCALED
            if name.endswith(suffix) and name.removesuffix(suffix) in tensors
        }  # fmt: skip
        hidden = {stem + suffix for stem in self._mxfp4 for suffix in (_BLOCKS, _SCALES)}
        hidden |= set(self._scale_names.values())
        self._names = dict.fromkeys([*(name for name in tensors if name not in hidden), *sorted(self._mxfp4)])

    def __getitem__(self, name: str) -> np.ndarray:
        try:
            return self._read(name)
        except ValueError as error:
            raise InputError(f"{self.where(name)}{name}: {error}") from None

    def where(self, name: str) -> str:
        """What messages say in front of a tensor's name."""
        return self._where(name + _BLOCKS if name in self._mxfp4 else name)

    def _read(self, name: str) -> np.ndarray:
        if name in self._mxfp4:
            if name in self._tensors or name + _SCALES not in self._tensors:
                there = "is there, too" if name in self._tensors else f"comes without {name}{_SCALES}"
                raise ValueError(f"{name}{_BLOCKS} {there}")
            blocks, scales = (np.asarray(self._tensors[name + suffix]) for suffix in (_BLOCKS, _SCALES))
            return from_mxfp4(blocks, scales, self._unpacked_type()).swapaxes(-1, -2)
        found = np.asarray(self._tensors[name])
        if name in self._scale_names:
            scales = np.asarray(self._tensors[self._scale_names[name]])
            return from_scaled(found, scales, self._block, self._unpacked_type())
        if not _is_wide(found.dtype):
            raise ValueError(f"elements of {found.dtype} without scales (there is no {name}{_SCALED[0]})")
        if name == _REFERENCE and self._dtype is None:
            self._dtype = found.dtype
        return found

    def _unpacked_type(self) -> np.dtype:
        if self._dtype is None:
            self._dtype = self[_REFERENCE].dtype
        return self._dtype

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _is_wide(dtype: np.dtype) -> bool:
    return dtypes.is_float(dtype) and not dtypes.is_float8(dtype)


def _e2m1(bits: int) -> float:
    """A sign, two bits of exponent with bias 1, one of the mantissa."""
    exponent, mantissa = bits >> 1 & 3, (bits & 1) / 2
    size = (1 + mantissa) * 2 ** (exponent - 1) if exponent else mantissa
    return -size if bits & 8 else size


# Of the exponents with bias 127 that are numbers.
_POWERS = np.ldexp(np.float32(1), np.arange(255) - 127)
# Of each byte, both elements, as one number: so they are copied at once.
_PAIRS = np.array([[_e2m1(byte & 15), _e2m1(byte >> 4)] for byte in range(256)], np.float32).view(np.uint64)[:, 0]


def from_mxfp4(blocks: np.ndarray, scales: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """[..., 32 B] of bytes [..., B, 16] and exponents with bias 127 [..., B], uint8 both; a matrix at a time.

    ValueError for other shapes and types, and for scales of 255, which are no numbers.
    """
    if blocks.dtype != np.uint8 or scales.dtype != np.uint8:
        raise ValueError(f"blocks of {blocks.dtype} and scales of {scales.dtype}; expected uint8 of both")
    if blocks.shape != (*scales.shape, _BLOCK_BYTES):
        raise ValueError(
            f"blocks {list(blocks.shape)} and scales {list(scales.shape)}; expected [..., B, 16] and [..., B]"
        )
    if (scales == 255).any():
        raise ValueError("a scale of 255, which is no number")
    *outer, count = scales.shape
    out = np.empty((*outer, 2 * _BLOCK_BYTES * count), dtype)
    for place in np.ndindex(*outer[:-1]):
        elements = _PAIRS[blocks[place]].view(np.float32)
        elements *= _POWERS[scales[place]][..., None]  # exact: of subnormal numbers, too
        out[place] = elements.reshape(out[place].shape)
    return out


def from_scaled(
    elements: np.ndarray, scales: np.ndarray, block: tuple[int, int], dtype: np.dtype
) -> np.ndarray:
    """float8 [..., R, C] times the scales of its blocks, [..., ceil(R / r), ceil(C / c)] of `block` = (r, c).

    A dimension of the scales may also be 1, for all of it, or as long as that of the elements; one number is for all.
    ValueError for other shapes and types.
    """
    if not dtypes.is_float8(elements.dtype):
        raise ValueError(f"elements of {elements.dtype} with scales; expected float8_e4m3fn or float8_e5m2")
    factors = scales.astype(np.float32)
    if scales.size == 1:
        factors = factors.reshape((1,) * elements.ndim)
    outer = elements.ndim - 2
    sizes = (*(1,) * max(outer, 0), *block)[-elements.ndim :] if elements.ndim else ()
    if factors.ndim != elements.ndim:
        raise ValueError(f"elements {list(elements.shape)} with scales {list(scales.shape)}")
    if not np.isfinite(factors).all():
        raise ValueError("a scale that is no finite number")
    for dim, (rows, size) in enumerate(zip(elements.shape, sizes)):
        if factors.shape[dim] == -(-rows // size):
            factors = np.repeat(factors, size, dim)[(slice(None),) * dim + (slice(rows),)]
        elif factors.shape[dim] not in (1, rows):
            raise ValueError(
                f"elements {list(elements.shape)} with scales {list(scales.shape)}: "
                f"dimension {dim} of blocks of {size} has {-(-rows // size)}"
            )
    made = elements.astype(np.float32)
    made *= factors
    return made.astype(dtype, copy=False)
