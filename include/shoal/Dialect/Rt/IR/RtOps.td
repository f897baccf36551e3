// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RT_OPS_TD
#define RT_OPS_TD

include "shoal/Dialect/Rt/IR/RtCheckOps.td"
include "shoal/Dialect/Rt/IR/RtCollectiveOps.td"
include "shoal/Dialect/Rt/IR/RtFourierOps.td"
include "shoal/Dialect/Rt/IR/RtIndexingOps.td"
include "shoal/Dialect/Rt/IR/RtOrderingOps.td"
include "shoal/Dialect/Rt/IR/RtProductOps.td"
include "shoal/Dialect/Rt/IR/RtProgramOps.td"

#endif // RT_OPS_TD
