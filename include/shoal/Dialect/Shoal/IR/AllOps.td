// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// All families of ops, for the reference page of the dialect.

#ifndef SHOAL_ALL_OPS_TD
#define SHOAL_ALL_OPS_TD

include "shoal/Dialect/Shoal/IR/ControlFlowOps.td"
include "shoal/Dialect/Shoal/IR/CustomCallOps.td"
include "shoal/Dialect/Shoal/IR/ElementOps.td"
include "shoal/Dialect/Shoal/IR/IndexingOps.td"
include "shoal/Dialect/Shoal/IR/ManualOps.td"
include "shoal/Dialect/Shoal/IR/OrderingOps.td"
include "shoal/Dialect/Shoal/IR/RaggedOps.td"
include "shoal/Dialect/Shoal/IR/RegionOps.td"
include "shoal/Dialect/Shoal/IR/ShoalOps.td"
include "shoal/Dialect/Shoal/IR/WindowOps.td"

#endif // SHOAL_ALL_OPS_TD
