// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What ops know of the single elements of their results.

#ifndef SHOAL_INTERFACES_ELEMENTINTERFACES_H
#define SHOAL_INTERFACES_ELEMENTINTERFACES_H

#include "mlir/IR/OpDefinition.h"
#include "shoal/Interfaces/Elements.h"

#include "shoal/Interfaces/ElementInterfaces.h.inc"

#endif // SHOAL_INTERFACES_ELEMENTINTERFACES_H
