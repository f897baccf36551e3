// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The op interfaces through which passes read what an op knows of itself.

#ifndef SHOAL_INTERFACES_PARTITIONINTERFACES_H
#define SHOAL_INTERFACES_PARTITIONINTERFACES_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"
#include "shoal/Sharding/FactorRule.h"

namespace shoal {
class Localizer;
} // namespace shoal

#include "shoal/Interfaces/PartitionInterfaces.h.inc"

#endif // SHOAL_INTERFACES_PARTITIONINTERFACES_H
