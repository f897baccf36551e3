// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// All families of ops, for the reference page of the dialect.

#ifndef SHOAL_ALL_OPS_TD
#define SHOAL_ALL_OPS_TD

include "shoal/Dialect/Shoal/IR/ControlFlowOps.td"
include "shoal/Dialect/Shoal/IR/CustomCallOps.td"
include "shoal/Dialect/Shoal/IR/ElementwiseOps.td"
include "shoal/Dialect/Shoal/IR/IndexingOps.td"
include "shoal/Dialect/Shoal/IR/ManualOps.td"
include "shoal/Dialect/Shoal/IR/OrderingOps.td"
include "shoal/Dialect/Shoal/IR/ContractionOps.td"
include "shoal/Dialect/Shoal/IR/ReductionOps.td"
include "shoal/Dialect/Shoal/IR/StructureOps.td"
include "shoal/Dialect/Shoal/IR/WindowsOps.td"

#endif // SHOAL_ALL_OPS_TD
