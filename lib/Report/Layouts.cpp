// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Layouts.h"
#include "shoal/Target/ProgramDescription.h"

using namespace mlir;
using namespace shoal;

Layouts::Layouts(ModuleOp module) : meshes(module.getOps<MeshOp>()) {}

int64_t Layouts::add(ShardingAttr sharding, AxesAttr manual) {
  auto [place, isNew] = numbers.try_emplace({sharding, manual}, list.size());
  if (isNew)
    list.push_back(describe(sharding, manual));
  return place->second;
}

llvm::json::Value Layouts::describe(ShardingAttr sharding, AxesAttr manual) {
  MeshOp *mesh = llvm::find_if(meshes, [&](MeshOp op) {
    return op.getSymNameAttr() == sharding.getMesh().getAttr();
  });
  auto describeAxes = [&](ArrayRef<AxisRefAttr> axes) {
    return toMetadata(axes, mesh->getMesh());
  };
  llvm::json::Array dims;
  for (DimShardingAttr dim : sharding.getDims())
    dims.push_back(describeAxes(dim.getAxes()));
  return llvm::json::Object{
      {"mesh", mesh - meshes.begin()},
      {"dims", std::move(dims)},
      {"partial", describeAxes(sharding.getPartial())},
      {"manual",
       describeAxes(manual ? manual.getAxes() : ArrayRef<AxisRefAttr>())}};
}

llvm::json::Array Layouts::take() { return std::move(list); }
