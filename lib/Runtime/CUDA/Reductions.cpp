// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Reductions.h"
#include "shoal/Calls/CollectiveScratch.h"

namespace shoal::rt {

static ncclDataType_t typeFor(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return ncclFloat32;
  case ElementType::F64:
    return ncclFloat64;
  case ElementType::BF16:
    return ncclBfloat16;
  case ElementType::F16:
    return ncclFloat16;
  case ElementType::I64:
    return ncclInt64;
  case ElementType::I32:
    return ncclInt32;
  case ElementType::I8:
    return ncclInt8;
  case ElementType::I1:
    return ncclUint8;
  default:
    fatal("a reduction that NCCL has no type for");
  }
}

static ncclRedOp_t operatorFor(ElementType type, Kind kind) {
  if (type == ElementType::I1)
    return asLogic(kind) == Kind::Or ? ncclMax : ncclMin;
  switch (kind) {
  case Kind::Sum:
    return ncclSum;
  case Kind::Prod:
    return ncclProd;
  case Kind::Max:
    return ncclMax;
  case Kind::Min:
    return ncclMin;
  default:
    fatal("a reduction that NCCL has no operator for");
  }
}

std::optional<Reduction> reductionFor(ElementType type, Kind kind) {
  if (!calls::ncclReduces(type, kind))
    return std::nullopt;
  return Reduction{typeFor(type), operatorFor(type, kind)};
}

} // namespace shoal::rt
