// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Interfaces/PartitionInterfaces.h"

#include "shoal/Interfaces/PartitionInterfaces.cpp.inc"

double shoal::weightOf(mlir::Block *block) {
  double weight = 1;
  for (mlir::Region *region = block->getParent(); region;
       region = region->getParentRegion())
    if (auto join = llvm::dyn_cast<JoinOpInterface>(region->getParentOp()))
      weight *= join.getRegionWeight(region->getRegionNumber());
  return weight;
}
