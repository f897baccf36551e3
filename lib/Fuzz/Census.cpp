// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Fuzz/Census.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "shoal/Dialect/Shoal/IR/MeshConversion.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <set>

using namespace mlir;
using namespace shoal;
using namespace shoal::fuzz;

OpCount &OpCount::operator+=(const OpCount &other) {
  drawn += other.drawn;
  programs += other.programs;
  assigned += other.assigned;
  split += other.split;
  uneven += other.uneven;
  return *this;
}

static bool isCounted(Operation *op) {
  return !isa<ModuleOp>(op) && !isa<func::FuncDialect>(op->getDialect());
}

static std::string nameOf(Operation *op) {
  return op->getName().getStringRef().str();
}

void Census::addDrawn(ModuleOp module) {
  std::set<std::string> names;
  module.walk([&](Operation *op) {
    if (!isCounted(op))
      return;
    ++counts[nameOf(op)].drawn;
    names.insert(nameOf(op));
  });
  for (const std::string &name : names)
    ++counts[name].programs;
}

void Census::addAssigned(ModuleOp module) {
  FailureOr<Mesh> mesh = collectMesh(module);
  if (failed(mesh))
    return;
  module.walk([&](Operation *op) {
    if (!isCounted(op) || !op->hasAttr(kShardingsAttr))
      return;
    bool isSplit = false, isUneven = false;
    SmallVector<Value> values(op->getOperands());
    values.append(op->result_begin(), op->result_end());
    for (Value value : values) {
      ShardingAttr attr = getShardingOf(value);
      if (!attr)
        continue;
      Sharding sharding = toSharding(attr, *mesh);
      auto shape = cast<ShapedType>(value.getType()).getShape();
      for (auto [axes, size] : llvm::zip_equal(sharding.dims, shape)) {
        int64_t shards = mesh->sizeOf(axes);
        isSplit |= shards > 1;
        isUneven |= size % shards != 0;
      }
    }
    OpCount &count = counts[nameOf(op)];
    ++count.assigned;
    count.split += isSplit;
    count.uneven += isUneven;
  });
}

Census &Census::operator+=(const Census &other) {
  for (const auto &[name, count] : other.counts)
    counts[name] += count;
  return *this;
}

std::string Census::encode() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const auto &[name, count] : counts)
    os << name << ' ' << count.drawn << ' ' << count.programs << ' '
       << count.assigned << ' ' << count.split << ' ' << count.uneven << ',';
  return text;
}

Census Census::decode(StringRef text) {
  Census census;
  SmallVector<StringRef> entries;
  text.split(entries, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef entry : entries) {
    SmallVector<StringRef> words;
    entry.split(words, ' ');
    OpCount &count = census.counts[words[0].str()];
    uint64_t *numbers[] = {&count.drawn, &count.programs, &count.assigned,
                           &count.split, &count.uneven};
    for (auto [number, word] :
         llvm::zip_equal(numbers, ArrayRef(words).drop_front()))
      word.getAsInteger(10, *number);
  }
  return census;
}

void Census::print(raw_ostream &os) const {
  std::vector<std::pair<std::string, OpCount>> order(counts.begin(),
                                                     counts.end());
  llvm::sort(order, [](const auto &a, const auto &b) {
    return std::tuple(b.second.drawn, b.second.assigned, a.first) <
           std::tuple(a.second.drawn, a.second.assigned, b.first);
  });
  os << "     drawn  programs  assigned     split    uneven\n";
  for (const auto &[name, count] : order)
    os << llvm::formatv("{0,10}{1,10}{2,10}{3,10}{4,10}  {5}\n", count.drawn,
                        count.programs, count.assigned, count.split,
                        count.uneven, name);
}
