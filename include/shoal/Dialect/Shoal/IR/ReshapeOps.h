// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_DIALECT_SHOAL_IR_RESHAPEOPS_H
#define SHOAL_DIALECT_SHOAL_IR_RESHAPEOPS_H

#include "mlir/Interfaces/ViewLikeInterface.h"
#include "shoal/Dialect/Shoal/IR/Shoal.h"

#define GET_OP_CLASSES
#include "shoal/Dialect/Shoal/IR/ReshapeOps.h.inc"

#endif // SHOAL_DIALECT_SHOAL_IR_RESHAPEOPS_H
