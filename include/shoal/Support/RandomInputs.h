// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arrays that --random-inputs=SEED stands for.

#ifndef SHOAL_SUPPORT_RANDOMINPUTS_H
#define SHOAL_SUPPORT_RANDOMINPUTS_H

#include "shoal/Support/ElementType.h"
#include "shoal/Support/Npy.h"

namespace shoal::support {

/// Fills the part of the global array that `block` covers. An element depends
/// on (seed, name, row-major index in the global array) alone, so every
/// sharding of a program sees the same array:
///   key    = mix(seed ^ fnv1a64(name))
///   h      = mix(key + (index + 1) * 0x9e3779b97f4a7c15), mix of splitmix64
///   floats = (sum of the four 16-bit quarters of h - 131070) * s, where s
///            makes the variance 1 (Irwin-Hall: nearly normal, |x| < 3.47),
///            computed in f64; all but f64 are rounded to f32, then to the type
///   ints   = the three top bits of h, in [0, 8);   i1 = the top bit.
/// `buffer` is dense with shape `bufferShape`; what the block does not reach
/// is left alone.
void fillRandomBlock(uint64_t seed, std::string_view name, ElementType type,
                     std::span<const int64_t> globalShape, const Block &block,
                     std::span<const int64_t> bufferShape, void *buffer);

/// The whole array.
void fillRandom(uint64_t seed, std::string_view name, ElementType type,
                std::span<const int64_t> shape, void *buffer);

} // namespace shoal::support

#endif // SHOAL_SUPPORT_RANDOMINPUTS_H
