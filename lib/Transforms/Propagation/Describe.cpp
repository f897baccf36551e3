// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Extract.h"
#include "shoal/Sharding/Propagation.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace shoal;

std::string shoal::describeOp(Operation *op) {
  std::string text = op->getName().getStringRef().str();
  if (auto einsum = dyn_cast<EinsumOp>(op))
    text += " \"" + einsum.getSpec().str() + "\"";
  return text;
}

std::string shoal::describeLocation(Location location) {
  std::string text;
  location->walk([&](Location inner) {
    auto file = dyn_cast<FileLineColLoc>(inner);
    if (!file)
      return WalkResult::advance();
    text = file.getFilename().str() + ":" + std::to_string(file.getLine()) +
           ":" + std::to_string(file.getColumn());
    return WalkResult::interrupt();
  });
  return text;
}

static std::string withName(std::string text, Attribute name) {
  if (auto string = dyn_cast_or_null<StringAttr>(name))
    text += " \"" + string.str() + "\"";
  return text;
}

std::string shoal::describeArgument(func::FuncOp function, unsigned index) {
  return withName("argument " + std::to_string(index),
                  function.getArgAttr(index, kNameAttr));
}

std::string shoal::describeResult(func::FuncOp function, unsigned index) {
  return withName("result " + std::to_string(index),
                  function.getResultAttr(index, kNameAttr));
}

static std::string withLocation(std::string text, Location location) {
  std::string where = describeLocation(location);
  return where.empty() ? text : text + " at " + where;
}

std::string ExtractedProblem::describe(unsigned op) const {
  const ProblemOp &origin = ops[op];
  if (origin.isArgument()) {
    unsigned index = origin.index;
    return withLocation(
        describeArgument(const_cast<ExtractedProblem *>(this)->function, index),
        values[problem.ops[op].results[0]].getLoc());
  }
  if (origin.isResult)
    return describeResult(const_cast<ExtractedProblem *>(this)->function,
                          origin.index) +
           " of @" + function->getAttrOfType<StringAttr>("sym_name").str();
  return withLocation(describeOp(origin.op), origin.op->getLoc());
}

std::string ExtractedProblem::describeUse(unsigned op, unsigned operand) const {
  if (ops[op].isResult)
    return describe(op);
  return "operand " + std::to_string(operand) + " of " + describe(op);
}

/// `from shoal.sharding_constraint at moe.mlir:6:12 via shoal.slice, 8 ops
/// away`: both ends. What lies between stands at the values on the way.
static std::string describeChain(const ExtractedProblem &extracted,
                                 ArrayRef<unsigned> chain) {
  std::string text = "from " + extracted.describe(chain.front());
  if (chain.size() > 1)
    text += " via " + extracted.problem.ops[chain.back()].label;
  if (chain.size() > 2)
    text += ", " + std::to_string(chain.size() - 1) + " ops away";
  return text;
}

std::string shoal::describeOrigin(const ExtractedProblem &extracted,
                                  const Hints &hints, unsigned value,
                                  const Sharding &sharding) {
  const Mesh &mesh = extracted.problem.mesh;
  // Parts of one axis mostly have one origin.
  llvm::SmallVector<std::pair<std::string, std::string>> axesByOrigin;
  auto add = [&](AxisId axis, std::string origin) {
    auto *it = llvm::find_if(
        axesByOrigin, [&](auto &entry) { return entry.first == origin; });
    if (it == axesByOrigin.end())
      it = axesByOrigin.insert(it, {std::move(origin), ""});
    std::string &names = it->second;
    const MeshAxis &part = mesh.axes[axis];
    std::string name = part.name;
    if (!part.isWhole())
      name += ":(" + std::to_string(part.pre) + ")" + std::to_string(part.size);
    names += (names.empty() ? "" : ", ") + name;
  };
  for (auto [d, dim] : llvm::enumerate(sharding.dims))
    for (AxisId axis : dim) {
      const AxisHint &hint = hints.at(value, axis);
      bool followed = hint.state == AxisHint::Split && hint.dim == d;
      add(axis, followed ? describeChain(extracted, hints.chain(value, axis))
                         : "by cost");
    }
  for (AxisId axis : sharding.partial)
    add(axis, "partial sums, by cost");
  std::string text;
  for (auto &[origin, names] : axesByOrigin)
    text += (text.empty() ? "" : "; ") + names + ": " + origin;
  return text;
}
