// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Writer.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

using namespace shoal;
using namespace shoal::assignment;
using llvm::json::OStream;

namespace {
class Writer {
public:
  Writer(CostTables &tables, OStream &json) : tables(tables), json(json) {}
  void write(const Assignment *plan);

private:
  using Layouts = llvm::SetVector<LayoutId>;

  llvm::ArrayRef<const Choice *> choicesOf(unsigned op);
  void writeLayouts();
  void writeKind(llvm::ArrayRef<const Choice *> choices);
  void writeOps();
  void collect(std::vector<Layouts> &made, std::vector<Layouts> &needed);
  void writePrices(unsigned value, const Layouts &made, const Layouts &needed);
  void writeValues();
  void writeChosen(const Assignment &plan);

  CostTables &tables;
  OStream &json;
  /// By kind of op.
  llvm::MapVector<unsigned, std::vector<const Choice *>> kinds;
};
} // namespace

llvm::ArrayRef<const Choice *> Writer::choicesOf(unsigned op) {
  auto [it, isNew] = kinds.try_emplace(tables.kindOf(op));
  if (isNew)
    for (ChoiceIndex i = 0; i < tables.classOf(op).numChoices(); ++i)
      if (const Choice *choice = tables.choice(op, i))
        it->second.push_back(choice);
  return it->second;
}

/// `[{0, 1}, {}] + {2}`: axes of dimensions, and partial ones.
static std::string textOf(const Layout &layout) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto write = [&](const AxisList &axes) {
    os << '{';
    llvm::interleaveComma(axes, os, [&](AxisId axis) { os << int(axis); });
    os << '}';
  };
  os << '[';
  llvm::interleaveComma(layout.sharding.dims, os, write);
  os << ']';
  if (!layout.sharding.partial.empty()) {
    os << " + ";
    write(layout.sharding.partial);
  }
  if (layout.deviceOrder > 0)
    os << " order " << layout.deviceOrder;
  return text;
}

void Writer::writeKind(llvm::ArrayRef<const Choice *> choices) {
  auto writeIds = [&](llvm::ArrayRef<LayoutId> ids) {
    json.array([&] {
      for (LayoutId id : ids)
        json.value(id);
    });
  };
  json.array([&] {
    for (const Choice *choice : choices)
      json.array([&] {
        json.value(choice->cost() - choice->held);
        json.value(choice->held / kHeldWeight);
        writeIds(choice->operands);
        writeIds(choice->results);
      });
  });
}

void Writer::writeOps() {
  for (unsigned op = 0; op < tables.problem.ops.size(); ++op)
    (void)choicesOf(op);
  json.attributeArray("kinds", [&] {
    for (const auto &[kind, choices] : kinds)
      writeKind(choices);
  });
  json.attributeArray("ops", [&] {
    for (auto [id, op] : llvm::enumerate(tables.problem.ops))
      json.object([&, id = id] {
        json.attribute("kind", kinds.find(tables.kindOf(id)) - kinds.begin());
        json.attributeArray("operands", [&] {
          for (unsigned value : op.operands)
            json.value(value);
        });
        json.attributeArray("results", [&] {
          for (unsigned value : op.results)
            json.value(value);
        });
        json.attribute("what", op.label);
      });
  });
}

/// The layouts in which each value may be made, and needed.
void Writer::collect(std::vector<Layouts> &made, std::vector<Layouts> &needed) {
  for (auto [id, op] : llvm::enumerate(tables.problem.ops))
    for (const Choice *choice : choicesOf(id)) {
      for (auto [value, layout] : llvm::zip_equal(op.results, choice->results))
        made[value].insert(layout);
      for (auto [value, layout] :
           llvm::zip_equal(op.operands, choice->operands))
        needed[value].insert(layout);
    }
}

void Writer::writePrices(unsigned value, const Layouts &made,
                         const Layouts &needed) {
  Layouts from = made;
  from.insert_range(needed);
  json.array([&] {
    for (LayoutId source : from)
      for (LayoutId target : needed) {
        double price = tables.reshard(value, source, target);
        if (source == target || price >= kForbidden)
          continue;
        json.array([&] {
          json.value(source);
          json.value(target);
          json.value(price);
        });
      }
  });
}

void Writer::writeValues() {
  size_t number = tables.problem.values.size();
  std::vector<Layouts> made(number), needed(number);
  collect(made, needed);
  using Key =
      std::tuple<unsigned, std::vector<LayoutId>, std::vector<LayoutId>>;
  std::map<Key, unsigned> classes;
  std::vector<unsigned> classOf, first;
  for (unsigned value = 0; value < number; ++value) {
    auto [it, isNew] = classes.try_emplace(Key(tables.valueClassOf(value),
                                               made[value].getArrayRef(),
                                               needed[value].getArrayRef()),
                                           first.size());
    if (isNew)
      first.push_back(value);
    classOf.push_back(it->second);
  }
  json.attributeArray("prices", [&] {
    for (unsigned value : first)
      writePrices(value, made[value], needed[value]);
  });
  json.attributeArray("values", [&] {
    for (unsigned number : classOf)
      json.value(number);
  });
}

/// By the layouts of what the op makes and reads, and how it is split.
void Writer::writeChosen(const Assignment &plan) {
  const AssignmentProblem &problem = tables.problem;
  auto isChosen = [&](unsigned op, const Choice &choice) {
    auto isVersion = [&](unsigned value, unsigned version, LayoutId id) {
      const ValueVersion &own = plan.values[value][version];
      const Layout &layout = tables.layout(id);
      return own.sharding == layout.sharding &&
             own.deviceOrder == layout.deviceOrder;
    };
    for (auto [i, value] : llvm::enumerate(problem.ops[op].operands))
      if (!isVersion(value, plan.uses[op][i], choice.operands[i]))
        return false;
    for (auto [i, value] : llvm::enumerate(problem.ops[op].results))
      if (!isVersion(value, 0, choice.results[i]))
        return false;
    return tables.classOf(op).split(choice.index) == plan.ops[op];
  };
  json.attributeArray("chosen", [&] {
    for (unsigned op = 0; op < problem.ops.size(); ++op) {
      llvm::ArrayRef<const Choice *> choices = choicesOf(op);
      auto it = llvm::find_if(
          choices, [&](const Choice *choice) { return isChosen(op, *choice); });
      json.value(it == choices.end() ? -1 : it - choices.begin());
    }
  });
}

/// Layouts get their numbers while all else is written.
void Writer::writeLayouts() {
  unsigned number = 0;
  for (const auto &[kind, choices] : kinds)
    for (const Choice *choice : choices)
      for (LayoutId id :
           llvm::concat<const LayoutId>(choice->operands, choice->results))
        number = std::max(number, id + 1);
  json.attributeArray("layouts", [&] {
    for (LayoutId id = 0; id < number; ++id)
      json.value(textOf(tables.layout(id)));
  });
}

void Writer::write(const Assignment *plan) {
  writeOps();
  writeLayouts();
  writeValues();
  if (plan)
    writeChosen(*plan);
}

void shoal::writeProblem(CostTables &tables, const Assignment *plan,
                         OStream &json) {
  Writer(tables, json).write(plan);
}
