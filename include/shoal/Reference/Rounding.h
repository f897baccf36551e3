// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What an element type does to a number. Floats are held as double, integers
// as int64_t; after every op they are brought back to their type.

#ifndef SHOAL_REFERENCE_ROUNDING_H
#define SHOAL_REFERENCE_ROUNDING_H

#include "shoal/Support/ElementType.h"

namespace shoal::reference {

using support::ElementType;

/// The value of the float type nearest to `value`, ties to even; overflow
/// gives an infinity, NaN stays NaN. Rounds once, also where `value` is a sum
/// with all the bits of a double.
double roundTo(ElementType type, double value);

/// `value` modulo 2^width, in [-2^(width-1), 2^(width-1)); for i1 0 or 1.
int64_t wrapTo(ElementType type, int64_t value);

/// The two readings of a stored integer: two's complement (an i1 of 1 is -1)
/// and unsigned.
int64_t asSigned(ElementType type, int64_t value);
uint64_t asUnsigned(ElementType type, int64_t value);

/// Bits of an integer type.
unsigned bitWidth(ElementType type);

/// What stands where a value is unspecified: NaN, or the bytes 0x5A for
/// integers, 1 for i1. Loud, so that an op that reads what it must not shows.
double unspecifiedFloat();
int64_t unspecifiedInteger(ElementType type);

} // namespace shoal::reference

#endif // SHOAL_REFERENCE_ROUNDING_H
