// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Dialect/Shoal/IR/NamePath.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace shoal;

/// `name` behind `outer`, unless it begins with the same root: JAX's names in
/// the bodies of loops are whole ones.
static std::string joined(const std::string &outer, const std::string &name) {
  if (outer.empty() || name.empty())
    return outer + name;
  auto root = [](StringRef path) {
    return path.take_until([](char c) { return c == '/'; });
  };
  return root(outer) == root(name) ? name : outer + "/" + name;
}

std::string shoal::namePath(Location loc) {
  return TypeSwitch<Location, std::string>(loc)
      .Case([](NameLoc name) { return name.getName().str(); })
      .Case([](CallSiteLoc call) {
        return joined(namePath(call.getCaller()), namePath(call.getCallee()));
      })
      .Case([](FusedLoc fused) {
        std::string path;
        for (Location part : fused.getLocations())
          if (path.empty())
            path = namePath(part);
        return path;
      })
      .Default([](Location) { return std::string(); });
}
