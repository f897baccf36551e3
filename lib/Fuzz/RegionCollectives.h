// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Collectives in regions for one device, over some of the manual axes.

#ifndef SHOAL_LIB_FUZZ_REGIONCOLLECTIVES_H
#define SHOAL_LIB_FUZZ_REGIONCOLLECTIVES_H

#include "shoal/Fuzz/ProgramBuilder.h"

namespace shoal::fuzz {

/// One to all of the axes, in any order.
AxisList pickAxes(ProgramBuilder &p, AxisList axes);

mlir::Value allReduce(ProgramBuilder &p, ReduceKind kind, AxesAttr axes,
                      mlir::Value value);

/// Adds a collective of any kind, as a Generator does.
bool makeCollective(ProgramBuilder &p);

} // namespace shoal::fuzz

#endif // SHOAL_LIB_FUZZ_REGIONCOLLECTIVES_H
