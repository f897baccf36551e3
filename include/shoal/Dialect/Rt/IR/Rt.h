// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The `rt` dialect: calls of the runtime library.

#ifndef SHOAL_DIALECT_RT_IR_RT_H
#define SHOAL_DIALECT_RT_IR_RT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "shoal/Dialect/Rt/IR/RtDialect.h.inc"

#define GET_OP_CLASSES
#include "shoal/Dialect/Rt/IR/RtOps.h.inc"

#endif // SHOAL_DIALECT_RT_IR_RT_H
