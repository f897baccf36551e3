// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What differentiation reads of an op.

#ifndef SHOAL_INTERFACES_DIFFERENTIABLEINTERFACE_H
#define SHOAL_INTERFACES_DIFFERENTIABLEINTERFACE_H

#include "mlir/IR/OpDefinition.h"

namespace shoal {
class Vjp;
} // namespace shoal

#include "shoal/Interfaces/DifferentiableInterface.h.inc"

#endif // SHOAL_INTERFACES_DIFFERENTIABLEINTERFACE_H
