// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_LIB_RUNTIME_CPU_COMBINEROW_H
#define SHOAL_LIB_RUNTIME_CPU_COMBINEROW_H

#include "../Program/Numeric.h"
#include "shoal/Calls/IndexingScratch.h"

#include <optional>
#include <span>

namespace shoal::rt {

/// to[i] = to[i] op from[i], or from[i] alone without a kind; strides count
/// elements. The only code that knows types: nests call it by pointer.
using CombineRow = void (*)(int64_t count, char *to, int64_t toStride,
                            const char *from, int64_t fromStride);

CombineRow combineRowFor(ElementType type, std::optional<Kind> kind);

/// The same of single elements, target by target: a call for each would cost
/// more than what it does.
using CombineTargets = void (*)(std::span<const calls::ScatterTarget> targets,
                                char *to, const char *from);

CombineTargets combineTargetsFor(ElementType type, std::optional<Kind> kind);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CPU_COMBINEROW_H
