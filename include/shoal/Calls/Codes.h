// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The numbers by which runtime calls name things, beside those of element types
// (Support/ElementType.h).

#ifndef SHOAL_CALLS_CODES_H
#define SHOAL_CALLS_CODES_H

#include <cstdint>

namespace shoal::calls {

/// Floats of 16 and 8 bits are combined in f32 and rounded once, or after every
/// pair where MPI or NCCL do so (of f8, compiled programs add terms of which
/// one is not zero). Integers wrap. max and min give NaN if an operand is NaN.
/// and / or are bitwise, and not defined on floats. On i1 sum and max mean or,
/// prod and min mean and.
enum class Kind : int64_t { Sum, Prod, Max, Min, And, Or };

/// What is done to each element of a product before it is rounded. Relu is the
/// maximum of 0 and x, gelu 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).
enum class Activation : int64_t { None, Relu, Gelu };

/// What a kernel does with a buffer.
enum class Access : int64_t { Read = 1, Write = 2, ReadWrite = 3 };

/// What a value that is checked is: an argument of the program, a result of an
/// op, or one of a region's values, which others become.
enum class CheckRole : int64_t { Input = 0, Made = 1, Joined = 2 };

/// A loop is reached, goes round once more, or is left.
enum class IterationEvent : int64_t { Begin = 0, Next = 1, End = 2 };

} // namespace shoal::calls

#endif // SHOAL_CALLS_CODES_H
