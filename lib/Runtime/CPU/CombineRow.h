// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_LIB_RUNTIME_CPU_COMBINEROW_H
#define SHOAL_LIB_RUNTIME_CPU_COMBINEROW_H

#include "../Program/Numeric.h"

#include <optional>

namespace shoal::rt {

/// to[i] = to[i] op from[i], or from[i] alone without a kind; strides count
/// elements. The only code that knows types: nests call it by pointer.
using CombineRow = void (*)(int64_t count, char *to, int64_t toStride,
                            const char *from, int64_t fromStride);

CombineRow combineRowFor(ElementType type, std::optional<Kind> kind);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CPU_COMBINEROW_H
