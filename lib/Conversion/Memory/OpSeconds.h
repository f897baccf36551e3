// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How long ops take on a device, roughly: enough to say which of two takes
// longer, and whether one fills the time of a collective.

#ifndef SHOAL_LIB_CONVERSION_MEMORY_OPSECONDS_H
#define SHOAL_LIB_CONVERSION_MEMORY_OPSECONDS_H

#include "mlir/IR/Operation.h"
#include "shoal/Machine/Machine.h"

namespace shoal {

/// Of an op on buffers, alone on a device; of a collective, between the devices
/// of a machine. From its bytes, and of a product its terms.
double estimateSeconds(mlir::Operation *op, const Machine &machine);

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_MEMORY_OPSECONDS_H
