// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Keys.h"
#include "llvm/ADT/StringMap.h"

using namespace shoal;
using namespace shoal::assignment;

using Problem = AssignmentProblem;

void assignment::addShape(const Problem::Value &value, std::string &key) {
  addListToKey(value.shape, key);
  addListToKey(value.manualAxes, key);
}

static void addValueType(const Problem::Value &value, std::string &key) {
  addToKey(value.elementBytes, key);
  addToKey(value.weight, key);
  addShape(value, key);
  addToKey(value.flopsIfSent, key);
}

std::vector<unsigned>
assignment::findValueClasses(const AssignmentProblem &problem) {
  llvm::StringMap<unsigned> ids;
  std::vector<unsigned> classes;
  for (const Problem::Value &value : problem.values) {
    std::string key;
    addValueType(value, key);
    classes.push_back(ids.try_emplace(key, ids.size()).first->second);
  }
  return classes;
}

static void addTensors(llvm::ArrayRef<DimFactors> tensors, std::string &key) {
  addToKey(uint32_t(tensors.size()), key);
  for (const DimFactors &dims : tensors)
    for (const auto &dim : dims)
      addListToKey(dim, key);
}

static void addRule(const FactorRule &rule, std::string &key) {
  addToKey(uint32_t(rule.factors.size()), key);
  for (const Factor &factor : rule.factors) {
    addToKey(factor.size, key);
    addToKey(factor.kind, key);
    addToKey(factor.needsEvenSplit, key);
    addToKey(factor.reduction ? int64_t(*factor.reduction) : -1, key);
  }
  addTensors(rule.operands, key);
  addTensors(rule.results, key);
  addToKey(uint32_t(rule.linearIn.size()), key);
  for (const auto &set : rule.linearIn)
    addListToKey(set, key);
  for (const FactorRule::Window &window : rule.windows)
    addListToKey(
        std::initializer_list<int64_t>{
            window.operand, window.dim, window.map.scale, window.map.low,
            window.map.high, window.map.divisor, window.map.wraps, window.size,
            window.unit, window.operandUnit},
        key);
  for (const FactorRule::Gather &gather : rule.gathers)
    addListToKey(std::initializer_list<unsigned>{gather.factor, gather.result},
                 key);
  addToKey(rule.written ? int64_t(*rule.written) : -1, key);
  addToKey(rule.flops, key);
}

static void addClasses(llvm::ArrayRef<unsigned> values,
                       llvm::ArrayRef<unsigned> classes, std::string &key) {
  addToKey(uint32_t(values.size()), key);
  for (unsigned value : values)
    addToKey(classes[value], key);
}

void assignment::addOpKey(const Problem::Op &op,
                          llvm::ArrayRef<unsigned> valueClasses,
                          std::string &key) {
  addToKey(op.deviceOrder, key);
  addToKey(op.weight, key);
  addToKey(op.exchangeWeight, key);
  addToKey(op.isHeld, key);
  addListToKey(op.manualAxes, key);
  addClasses(op.operands, valueClasses, key);
  addClasses(op.results, valueClasses, key);
  addRule(op.rule, key);
  addListToKey(op.unsharedFactors, key);
  addToKey(uint32_t(op.elementType.size()), key);
  key += op.elementType;
}

static void addConstraint(const ShardingConstraint &constraint,
                          std::string &key) {
  addToKey(uint32_t(constraint.dims.size()), key);
  for (const DimConstraint &dim : constraint.dims) {
    addListToKey(dim.axes, key);
    addToKey(dim.open, key);
    addToKey(dim.priority, key);
  }
  addListToKey(constraint.partial, key);
  addListToKey(constraint.replicated, key);
  addToKey(constraint.isHint, key);
}

void assignment::addAnnotationKey(const Problem::Op &op, std::string &key) {
  addToKey(op.constraint.has_value(), key);
  if (op.constraint)
    addConstraint(*op.constraint, key);
  addToKey(op.boundary.has_value(), key);
  if (!op.boundary)
    return;
  addToKey(uint32_t(op.boundary->axes.size()), key);
  for (const AxisList &axes : op.boundary->axes)
    addListToKey(axes, key);
  addListToKey(op.boundary->partial, key);
  addToKey(op.boundary->isEntry, key);
}
