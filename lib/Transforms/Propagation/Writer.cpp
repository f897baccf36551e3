// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Writer.h"

using namespace mlir;
using namespace shoal;

void ShardingWriter::add(unsigned value, const Sharding &sharding,
                         unsigned deviceOrder) {
  Value made = extracted.values[value];
  Record *record = &arguments;
  if (auto result = dyn_cast<OpResult>(made)) {
    record = &results[result.getOwner()];
    // Joins come in any order of the results.
    if (record->shardings.empty()) {
      record->shardings.resize(result.getOwner()->getNumResults());
      record->origins.resize(result.getOwner()->getNumResults());
    }
  } else {
    Operation *parent = cast<BlockArgument>(made).getOwner()->getParentOp();
    if (isa<BoundaryOpInterface>(parent))
      regionArguments[parent].push_back(
          extracted.toAttr(sharding, deviceOrder, value));
    if (!isa<FunctionOpInterface>(parent))
      return;
  }
  Attribute attr = extracted.toAttr(sharding, deviceOrder, value);
  Attribute origin = StringAttr::get(
      attr.getContext(), describeOrigin(extracted, hints, value, sharding));
  if (auto result = dyn_cast<OpResult>(made)) {
    record->shardings[result.getResultNumber()] = attr;
    record->origins[result.getResultNumber()] = origin;
    return;
  }
  record->shardings.push_back(attr);
  record->origins.push_back(origin);
}

void ShardingWriter::writeResults() const {
  for (const auto &[op, record] : results) {
    Builder builder(op->getContext());
    op->setAttr(kShardingsAttr, builder.getArrayAttr(record.shardings));
    op->setAttr(kOriginAttr, builder.getArrayAttr(record.origins));
  }
  for (const auto &[op, shardings] : regionArguments)
    op->setAttr(kArgumentShardingsAttr,
                ArrayAttr::get(op->getContext(), shardings));
}
