// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_DIALECT_SHOAL_IR_FOURIEROPS_H
#define SHOAL_DIALECT_SHOAL_IR_FOURIEROPS_H

#include "shoal/Dialect/Shoal/IR/Shoal.h"

#define GET_OP_CLASSES
#include "shoal/Dialect/Shoal/IR/FourierOps.h.inc"

#endif // SHOAL_DIALECT_SHOAL_IR_FOURIEROPS_H
