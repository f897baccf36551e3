// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The order in which a CPU adds up the terms of a sum, as far as phases must
// agree on it.

#ifndef SHOAL_LIB_CONVERSION_UTILS_SUMORDER_H
#define SHOAL_LIB_CONVERSION_UTILS_SUMORDER_H

#include <cstdint>

namespace shoal {

/// Up to so many terms are added one after the other: whether a body does so
/// without a loop depends on what else is in it.
inline constexpr int64_t kSequentialTerms = 8;

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_UTILS_SUMORDER_H
