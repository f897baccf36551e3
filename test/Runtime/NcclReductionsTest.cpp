// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which reductions go to NCCL.

#include "CUDA/Reductions.h"

#include <gmock/gmock.h>

using namespace shoal::rt;
using testing::Eq;
using testing::Optional;

namespace {

TEST(NcclReductions, WhatNcclMeansAsWeDo) {
  EXPECT_THAT(reductionFor(ElementType::F32, Kind::Sum),
              Optional(Reduction{ncclFloat32, ncclSum}));
  EXPECT_THAT(reductionFor(ElementType::BF16, Kind::Sum),
              Optional(Reduction{ncclBfloat16, ncclSum}));
  EXPECT_THAT(reductionFor(ElementType::F64, Kind::Prod),
              Optional(Reduction{ncclFloat64, ncclProd}));
  EXPECT_THAT(reductionFor(ElementType::I32, Kind::Max),
              Optional(Reduction{ncclInt32, ncclMax}));
}

TEST(NcclReductions, LogicIsMaxAndMinOfBytes) {
  for (Kind kind : {Kind::Sum, Kind::Max, Kind::Or})
    EXPECT_THAT(reductionFor(ElementType::I1, kind),
                Optional(Reduction{ncclUint8, ncclMax}));
  for (Kind kind : {Kind::Prod, Kind::Min, Kind::And})
    EXPECT_THAT(reductionFor(ElementType::I1, kind),
                Optional(Reduction{ncclUint8, ncclMin}));
}

TEST(NcclReductions, WhatAKernelCombines) {
  for (ElementType type : {ElementType::F32, ElementType::F64,
                           ElementType::BF16, ElementType::F16})
    for (Kind kind : {Kind::Max, Kind::Min})
      EXPECT_THAT(reductionFor(type, kind), Eq(std::nullopt));
  EXPECT_THAT(reductionFor(ElementType::F16, Kind::Prod), Eq(std::nullopt));
  EXPECT_THAT(reductionFor(ElementType::I16, Kind::Sum), Eq(std::nullopt));
  EXPECT_THAT(reductionFor(ElementType::I64, Kind::And), Eq(std::nullopt));
  EXPECT_THAT(reductionFor(ElementType::I8, Kind::Or), Eq(std::nullopt));
}

} // namespace
