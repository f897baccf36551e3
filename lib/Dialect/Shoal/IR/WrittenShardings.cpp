// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Dialect/Shoal/IR/WrittenShardings.h"
#include "shoal/Dialect/Shoal/IR/AnnotationsOps.h"
#include "shoal/Dialect/Shoal/IR/ManualOps.h"

using namespace mlir;
using namespace shoal;

static StringAttr spell(ShardingAttr sharding) {
  std::string text;
  llvm::raw_string_ostream(text) << sharding;
  StringRef stripped = text;
  stripped.consume_front("#shoal.sharding");
  return StringAttr::get(sharding.getContext(), stripped);
}

static SmallVector<ShardingAttr> shardingsOf(Operation *op) {
  if (auto constraint = dyn_cast<ShardingConstraintOp>(op))
    return {constraint.getSharding()};
  SmallVector<ShardingAttr> shardings;
  if (auto region = dyn_cast<ManualComputationOp>(op))
    for (ArrayAttr list : {region.getInShardings(), region.getOutShardings()})
      llvm::append_range(shardings, list.getAsRange<ShardingAttr>());
  return shardings;
}

static void keepOfFunction(FunctionOpInterface function,
                           FlatSymbolRefAttr mesh) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (auto sharding =
            function.getArgAttrOfType<ShardingAttr>(i, kShardingAttr))
      if (sharding.getMesh() == mesh)
        function.setArgAttr(i, kWrittenAttr, spell(sharding));
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (auto sharding =
            function.getResultAttrOfType<ShardingAttr>(i, kShardingAttr))
      if (sharding.getMesh() == mesh)
        function.setResultAttr(i, kWrittenAttr, spell(sharding));
}

void shoal::keepWrittenShardings(Operation *op, FlatSymbolRefAttr mesh) {
  if (auto function = dyn_cast<FunctionOpInterface>(op))
    return keepOfFunction(function, mesh);
  SmallVector<ShardingAttr> shardings = shardingsOf(op);
  // All are over one mesh.
  if (shardings.empty() || shardings.front().getMesh() != mesh)
    return;
  op->setAttr(kWrittenAttr,
              ArrayAttr::get(op->getContext(),
                             llvm::map_to_vector(shardings, [](auto sharding) {
                               return Attribute(spell(sharding));
                             })));
}

static std::string toText(Attribute attr) {
  auto text = dyn_cast_or_null<StringAttr>(attr);
  return text ? " " + text.str() : "";
}

std::string shoal::writtenSharding(Operation *op, unsigned index) {
  auto list = op->getAttrOfType<ArrayAttr>(kWrittenAttr);
  return list && index < list.size() ? toText(list[index]) : "";
}

std::string shoal::writtenArgument(FunctionOpInterface function,
                                   unsigned index) {
  return toText(function.getArgAttr(index, kWrittenAttr));
}

std::string shoal::writtenResult(FunctionOpInterface function, unsigned index) {
  return toText(function.getResultAttr(index, kWrittenAttr));
}
