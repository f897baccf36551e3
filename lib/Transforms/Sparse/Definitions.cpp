// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What folders, ranges and interfaces of ops say of terms.

#include "Terms.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::sparse;

//===----------------------------------------------------------------------===//
// Ops on scalars
//===----------------------------------------------------------------------===//

Operation *Terms::instantiate(const TermNode &node,
                              SmallVectorImpl<Value> &values) {
  Location loc = builder.getUnknownLoc();
  for (Term operand : node.operands) {
    // Equal terms are one value, as folders look for.
    unsigned slot = llvm::find(node.operands, operand) - node.operands.begin();
    Value &argument = arguments[{operand->type, slot}];
    if (!argument)
      argument = scratch->addArgument(operand->type, loc);
    values.push_back(argument);
  }
  OperationState state(loc, *node.name);
  state.addOperands(values);
  state.addTypes(node.type);
  state.addAttributes(node.attributes.getValue());
  return Operation::create(state);
}

/// Null where the op does not become simpler.
Term Terms::fold(const TermNode &node) {
  bool hasNumber =
      llvm::any_of(node.operands, [](Term term) { return term->isNumber(); });
  bool repeats = false;
  for (auto [i, operand] : llvm::enumerate(node.operands))
    repeats |=
        llvm::is_contained(ArrayRef(node.operands).take_front(i), operand);
  if (!hasNumber && !repeats)
    return nullptr;
  SmallVector<Value> values;
  Operation *op = instantiate(node, values);
  SmallVector<Attribute> constants;
  for (Term operand : node.operands)
    constants.push_back(operand->number);
  SmallVector<OpFoldResult, 1> results;
  bool isFolded = succeeded(op->fold(constants, results));
  Term term = nullptr;
  auto termOf = [&](Value value) {
    return node.operands[llvm::find(values, value) - values.begin()];
  };
  if (isFolded && results.size() == 1) {
    if (auto value = dyn_cast<Value>(results[0]))
      term = termOf(value);
    else if (auto attribute = dyn_cast<TypedAttr>(cast<Attribute>(results[0])))
      term = number(attribute);
  } else if (isFolded && results.empty()) {
    // Operands were put in another order.
    TermNode other = node;
    other.operands.clear();
    for (Value value : op->getOperands())
      other.operands.push_back(termOf(value));
    other.attributes = op->getAttrDictionary();
    if (other.operands != node.operands)
      term = this->op(*other.name, other.attributes, other.type,
                      TermList(other.operands));
  }
  op->destroy();
  return term && term->type == node.type ? term : nullptr;
}

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

Term Terms::foldByRange(Term term) {
  auto known = range(term);
  if (!known || known->smin() != known->smax())
    return nullptr;
  return number(builder.getIntegerAttr(term->type, known->smin()));
}

std::optional<ConstantIntRanges> Terms::range(Term term) {
  if (!isa<IntegerType>(term->type))
    return std::nullopt;
  if (auto known = ranges.find(term); known != ranges.end())
    return known->second;
  auto result = computeRange(term);
  ranges[term] = result;
  return result;
}

std::optional<ConstantIntRanges> Terms::computeRange(Term term) {
  unsigned width = term->type.getIntOrFloatBitWidth();
  auto below = [&](int64_t limit) -> std::optional<ConstantIntRanges> {
    if (limit <= 0 || !llvm::isIntN(width, limit))
      return std::nullopt;
    return ConstantIntRanges::fromSigned(APInt(width, 0),
                                         APInt(width, limit - 1));
  };
  switch (term->kind) {
  case TermKind::Index:
    return below(term->size);
  case TermKind::Number:
    return ConstantIntRanges::constant(
        cast<IntegerAttr>(term->number).getValue());
  case TermKind::Sum:
    return std::nullopt;
  case TermKind::Element: {
    Operation *op = term->value.getDefiningOp();
    auto model = dyn_cast_or_null<ElementOpInterface>(op);
    unsigned i = op ? cast<OpResult>(term->value).getResultNumber() : 0;
    if (model && model.getLimit(i) > 0)
      return below(model.getLimit(i));
    Term definition = define(term->value).term;
    return definition && definition->kind == TermKind::Op ? range(definition)
                                                          : std::nullopt;
  }
  case TermKind::Op:
    return inferRange(*term);
  }
  return std::nullopt;
}

std::optional<ConstantIntRanges> Terms::inferRange(const TermNode &node) {
  if (!node.name->hasInterface<InferIntRangeInterface>())
    return std::nullopt;
  SmallVector<ConstantIntRanges> operands;
  for (Term operand : node.operands) {
    if (!isa<IntegerType>(operand->type))
      return std::nullopt;
    auto known = range(operand);
    operands.push_back(known ? *known
                             : ConstantIntRanges::maxRange(
                                   operand->type.getIntOrFloatBitWidth()));
  }
  SmallVector<Value> values;
  Operation *op = instantiate(node, values);
  std::optional<ConstantIntRanges> result;
  cast<InferIntRangeInterface>(op).inferResultRanges(
      operands, [&](Value, const ConstantIntRanges &range) { result = range; });
  op->destroy();
  return result;
}

//===----------------------------------------------------------------------===//
// Equations
//===----------------------------------------------------------------------===//

Term Terms::solve(Term term, Term index, Term target) {
  if (term == index)
    return target;
  if (term->kind != TermKind::Op)
    return nullptr;
  int which = -1;
  for (auto [i, operand] : llvm::enumerate(term->operands)) {
    if (!operand->dependsOn(index))
      continue;
    if (which >= 0)
      return nullptr;
    which = int(i);
  }
  if (which < 0)
    return nullptr;
  SmallVector<Value> values;
  Operation *op = instantiate(*term, values);
  auto model = dyn_cast<ElementOpInterface>(op);
  Term rest =
      model ? model.solve(*this, term->operands, which, target) : nullptr;
  op->destroy();
  return rest ? solve(term->operands[which], index, rest) : nullptr;
}

//===----------------------------------------------------------------------===//
// Definitions
//===----------------------------------------------------------------------===//

static bool isElementwise(Operation *op) {
  if (!OpTrait::hasElementwiseMappableTraits(op) || op->getNumResults() != 1 ||
      !isPure(op))
    return false;
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  return type && llvm::all_of(op->getOperandTypes(), [&](Type operand) {
           auto tensor = dyn_cast<RankedTensorType>(operand);
           return tensor && tensor.getShape() == type.getShape();
         });
}

bool shoal::sparse::isElementwiseOnTensors(Operation *op) {
  return isElementwise(op);
}

/// What is read by a place that must be computed is better read where the
/// program has already put it.
static bool isPlainElement(Term term) {
  if (!term->isElement())
    return false;
  ArrayRef<int64_t> shape = tensorType(term->value).getShape();
  return llvm::all_of(llvm::zip_equal(term->operands, shape), [](auto pair) {
    auto [place, size] = pair;
    return place->isNumber() || (place->isIndex() && place->size == size);
  });
}

const Terms::Definition &Terms::define(Value tensor) {
  auto known = definitions.find(tensor);
  if (known != definitions.end())
    return known->second;
  Definition definition = makeDefinition(tensor);
  if (Term term = definition.term) {
    definition.isAlias = term->isClosed || isPlainElement(term);
    if (term->depth > kMaxDepth)
      definition = {};
    else
      range(term);
  }
  return definitions[tensor] = definition;
}

Terms::Definition Terms::makeDefinition(Value tensor) {
  Operation *op = tensor.getDefiningOp();
  if (!op || !isa<RankedTensorType>(tensor.getType()))
    return {};
  DenseElementsAttr constant;
  if (matchPattern(tensor, m_Constant(&constant)))
    return {constant.isSplat()
                ? number(cast<TypedAttr>(constant.getSplatValue<Attribute>()))
                : nullptr};
  TermList index = indicesOf(tensor);
  if (auto model = dyn_cast<ElementOpInterface>(op)) {
    if (auto mapped = model.mapIndex(*this, index))
      return {element(op->getOperand(0), *mapped)};
    unsigned i = cast<OpResult>(tensor).getResultNumber();
    if (Term term = model.getElement(*this, i, index))
      return {term};
  }
  if (!isElementwise(op))
    return {};
  TermList operands;
  for (Value operand : op->getOperands())
    operands.push_back(element(operand, index));
  return {this->op(op, operands)};
}

Term Terms::definition(Value tensor) { return define(tensor).term; }

Term Terms::definition(Value tensor, TermRange index) {
  Term term = define(tensor).term;
  return term ? at(term, tensor, index) : nullptr;
}

Term Terms::at(Term term, Value tensor, TermRange index) {
  Substitution substitution;
  for (auto [from, to] : llvm::zip_equal(indicesOf(tensor), index))
    if (from != to)
      substitution[from] = to;
  return substitution.empty() ? term : substitute(term, substitution);
}
