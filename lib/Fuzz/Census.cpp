// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Fuzz/Census.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "shoal/Dialect/Shoal/IR/MeshConversion.h"
#include "shoal/Support/Threshold.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
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

void Census::addSides(ArrayRef<std::string> texts) {
  std::map<std::string, support::Sides> sides;
  for (const std::string &text : texts)
    for (const support::Sides &read : support::readSides(text)) {
      support::Sides &one = sides[read.name];
      one.value = read.value;
      one.below |= read.below;
      one.above |= read.above;
    }
  for (const auto &[name, one] : sides) {
    SizeCount &count = sizes[name];
    count.value = one.value;
    count.below += one.below;
    count.above += one.above;
  }
}

Census &Census::operator+=(const Census &other) {
  for (const auto &[name, count] : other.counts)
    counts[name] += count;
  for (const auto &[name, more] : other.sizes) {
    SizeCount &count = sizes[name];
    count.value = more.value;
    count.below += more.below;
    count.above += more.above;
  }
  return *this;
}

/// Names of thresholds have commas.
static constexpr char kSizes = '\x1d', kEnd = '\x1e';

std::string Census::encode() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const auto &[name, count] : counts)
    os << name << ' ' << count.drawn << ' ' << count.programs << ' '
       << count.assigned << ' ' << count.split << ' ' << count.uneven << ',';
  os << kSizes;
  for (const auto &[name, count] : sizes)
    os << name << ':' << llvm::format("%.17g", count.value) << ':'
       << count.below << ':' << count.above << kEnd;
  return text;
}

Census Census::decode(StringRef all) {
  Census census;
  auto [text, sizes] = all.split(kSizes);
  SmallVector<StringRef> entries;
  sizes.split(entries, kEnd, /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef entry : entries) {
    SmallVector<StringRef> words;
    entry.split(words, ':');
    SizeCount &count = census.sizes[words[0].str()];
    words[1].getAsDouble(count.value);
    words[2].getAsInteger(10, count.below);
    words[3].getAsInteger(10, count.above);
  }
  entries.clear();
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

void Census::printSizes(raw_ostream &os) const {
  std::vector<std::pair<std::string, SizeCount>> order(sizes.begin(),
                                                       sizes.end());
  llvm::sort(order, [](const auto &a, const auto &b) {
    auto rarest = [](const SizeCount &count) {
      return std::min(count.below, count.above);
    };
    return std::tuple(rarest(a.second), a.first) <
           std::tuple(rarest(b.second), b.first);
  });
  os << "     below     above     value\n";
  for (const auto &[name, count] : order)
    os << llvm::formatv("{0,10}{1,10}{2,10}  {3}\n", count.below, count.above,
                        static_cast<uint64_t>(count.value), name);
}
