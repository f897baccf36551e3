// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Sharding/ReduceKind.h"
#include "llvm/ADT/STLExtras.h"

using namespace shoal;

static constexpr llvm::StringLiteral kNames[] = {"sum", "prod", "max",
                                                 "min", "and",  "or"};

llvm::StringRef shoal::stringifyReduceKind(ReduceKind kind) {
  return kNames[static_cast<uint32_t>(kind)];
}

std::optional<ReduceKind> shoal::symbolizeReduceKind(llvm::StringRef name) {
  return symbolizeReduceKind(
      static_cast<uint32_t>(llvm::find(kNames, name) - std::begin(kNames)));
}

std::optional<ReduceKind> shoal::symbolizeReduceKind(uint32_t number) {
  if (number >= std::size(kNames))
    return std::nullopt;
  return static_cast<ReduceKind>(number);
}
