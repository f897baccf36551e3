// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Dialect/Shoal/IR/FloatTypes.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "shoal/Dialect/Rt/IR/RtProductOps.cpp.inc"

namespace shoal::rt {

using Term = std::pair<ArrayRef<char>, Value>;

static Type elementOf(Value value) {
  return getElementTypeOrSelf(value.getType());
}

//===----------------------------------------------------------------------===//
// Letters
//===----------------------------------------------------------------------===//

/// The letters of the terms in this order, with the sizes of the tensors.
static ProductTerms numberLetters(EinsumSpec spec, ArrayRef<Term> terms) {
  ProductTerms numbered;
  for (auto [letters, value] : terms)
    for (auto [letter, size] :
         llvm::zip_equal(letters, cast<ShapedType>(value.getType()).getShape()))
      if (!llvm::is_contained(numbered.letters, letter)) {
        numbered.letters.push_back(letter);
        numbered.sizes.push_back(size);
      }
  numbered.spec = std::move(spec);
  return numbered;
}

int64_t ProductTerms::numberOf(char letter) const {
  return llvm::find(letters, letter) - letters.begin();
}

calls::Letters ProductTerms::encode(ArrayRef<char> term) const {
  calls::Letters numbers;
  for (char letter : term)
    numbers.push_back(numberOf(letter));
  return numbers;
}

/// A letter per dimension, of one size in all terms; each letter of the result
/// in another term, and once in the result. The last term is the result's.
static LogicalResult verifyTerms(Operation *op, ArrayRef<Term> terms) {
  llvm::SmallDenseMap<char, int64_t> sizes;
  llvm::SmallSet<char, 8> inResult;
  for (auto [number, term] : llvm::enumerate(terms)) {
    auto [letters, value] = term;
    bool isResult = number + 1 == terms.size();
    std::string what =
        isResult ? "the output" : ("term " + Twine(number)).str();
    ArrayRef<int64_t> shape = cast<ShapedType>(value.getType()).getShape();
    if (shape.size() != letters.size())
      return op->emitOpError() << what << ": rank " << shape.size() << " but "
                               << letters.size() << " letters";
    for (auto [dim, letter] : llvm::enumerate(letters)) {
      StringRef name(&letter, 1);
      if (isResult && !sizes.contains(letter))
        return op->emitOpError() << what << " dim " << dim << ": letter '"
                                 << name << "' is in no other term";
      if (isResult && !inResult.insert(letter).second)
        return op->emitOpError() << what << " dim " << dim << ": letter '"
                                 << name << "' occurs twice";
      int64_t known = sizes.try_emplace(letter, shape[dim]).first->second;
      if (known != shape[dim])
        return op->emitOpError()
               << what << " dim " << dim << ": letter '" << name
               << "' has size " << shape[dim] << " but " << known << " before";
    }
  }
  return success();
}

static FailureOr<EinsumSpec> verifySpec(Operation *op, StringRef text,
                                        size_t numTerms) {
  std::string error;
  std::optional<EinsumSpec> spec = EinsumSpec::parse(text, error);
  if (!spec)
    return op->emitOpError() << "spec \"" << text << "\": " << error;
  if (spec->inputs.size() != numTerms)
    return op->emitOpError() << "spec \"" << text << "\": expected " << numTerms
                             << " terms but got " << spec->inputs.size();
  return *spec;
}

//===----------------------------------------------------------------------===//
// einsum
//===----------------------------------------------------------------------===//

bool EinsumOp::isFloat8() {
  return shoal::isFloat8(elementOf(getLhs())) &&
         shoal::isFloat8(elementOf(getRhs()));
}

ProductTerms EinsumOp::getTerms() {
  EinsumSpec spec = EinsumSpec::of(getSpec());
  const Term terms[] = {{spec.result, getOutput()},
                        {spec.inputs[0], getLhs()},
                        {spec.inputs[1], getRhs()}};
  return numberLetters(spec, terms);
}

MatrixSizes EinsumOp::getMatrixSizes() {
  ProductTerms terms = getTerms();
  MatrixSizes sizes;
  for (auto [letter, size] : llvm::zip_equal(terms.letters, terms.sizes)) {
    bool inLhs = llvm::is_contained(terms.spec.inputs[0], letter);
    bool inRhs = llvm::is_contained(terms.spec.inputs[1], letter);
    if (!llvm::is_contained(terms.spec.result, letter))
      sizes.sums *= inLhs && inRhs ? size : 1;
    else if (!inRhs)
      sizes.rows *= size;
    else if (!inLhs)
      sizes.columns *= size;
  }
  return sizes;
}

/// (C3)
static LogicalResult verifyScales(EinsumOp op) {
  if (op.getScales().empty())
    return success();
  if (op.getScales().size() > 2)
    return op.emitOpError("expected at most two scales but got ")
           << op.getScales().size();
  for (Value scale : op.getScales()) {
    auto type = cast<ShapedType>(scale.getType());
    if (!type.getElementType().isF32() || type.getNumElements() != 1)
      return op.emitOpError("expected a scale to be one f32 but got ") << type;
  }
  if (!op.isFloat8())
    return op.emitOpError("scales: expected operands of f8 but got ")
           << elementOf(op.getLhs()) << " and " << elementOf(op.getRhs());
  return success();
}

/// (C4)
static LogicalResult verifyBias(EinsumOp op, const ProductTerms &terms) {
  std::optional<StringRef> letters = op.getBiasLetters();
  if (letters.has_value() != bool(op.getBias()))
    return op.emitOpError("expected a bias and its letters, or neither");
  if (!letters)
    return success();
  auto type = cast<ShapedType>(op.getBias().getType());
  if (static_cast<size_t>(type.getRank()) != letters->size())
    return op.emitOpError("bias: rank ")
           << type.getRank() << " but " << letters->size() << " letters";
  for (auto [dim, letter] : llvm::enumerate(*letters)) {
    StringRef name = letters->substr(dim, 1);
    if (!llvm::is_contained(terms.spec.result, letter) ||
        letters->take_front(dim).contains(letter))
      return op.emitOpError("bias: expected letters of the result, each once, "
                            "but got \"")
             << *letters << "\"";
    if (int64_t size = terms.sizes[terms.numberOf(letter)];
        type.getDimSize(dim) != size)
      return op.emitOpError("bias dim ")
             << dim << ": letter '" << name << "' has size "
             << type.getDimSize(dim) << " but " << size << " in the output";
  }
  if (type.getElementType() != elementOf(op.getOutput()))
    return op.emitOpError("bias: expected elements of ")
           << elementOf(op.getOutput()) << " but got " << type.getElementType();
  return success();
}

LogicalResult EinsumOp::verify() {
  FailureOr<EinsumSpec> spec = verifySpec(*this, getSpec(), 2);
  if (failed(spec) || failed(verifyTerms(*this, {{spec->inputs[0], getLhs()},
                                                 {spec->inputs[1], getRhs()},
                                                 {spec->result, getOutput()}})))
    return failure(); // (C1)
  Type lhs = elementOf(getLhs()), rhs = elementOf(getRhs());
  Type out = elementOf(getOutput());
  if (isa<FloatType>(lhs) != isa<FloatType>(out) || (lhs != rhs && !isFloat8()))
    return emitOpError("does not multiply ")
           << lhs << " and " << rhs << " into " << out; // (C2)
  if (failed(verifyScales(*this)) || failed(verifyBias(*this, getTerms())))
    return failure();
  bool hasEpilogue = getBias() || getActivation() || !getScales().empty();
  if (hasEpilogue && !isa<FloatType>(out)) // (C5)
    return emitOpError("expected floats where there is a bias, a scale or an "
                       "activation but got ")
           << out;
  return verifyPlan();
}

double EinsumOp::countTerms() {
  double count = 1;
  for (int64_t size : getTerms().sizes)
    count *= static_cast<double>(size);
  return count;
}

std::optional<ProductShape> EinsumOp::getProductShape() {
  MatrixSizes sizes = getMatrixSizes();
  double matrix = static_cast<double>(sizes.rows) * sizes.columns * sizes.sums;
  int64_t batch = matrix > 0 ? std::llround(countTerms() / matrix) : 0;
  return ProductShape{batch, sizes.rows, sizes.columns, sizes.sums};
}

//===----------------------------------------------------------------------===//
// ragged_einsum
//===----------------------------------------------------------------------===//

ProductTerms RaggedEinsumOp::getTerms() {
  EinsumSpec spec = EinsumSpec::of(getSpec());
  const Term terms[] = {{spec.inputs[0], getLhs()},
                        {spec.inputs[1], getRhs()},
                        {spec.inputs[2], getBegins()}};
  return numberLetters(spec, terms);
}

bool RaggedEinsumOp::multiplies(Type in, Type out) {
  return in == out || ((in.isBF16() || in.isF16()) && out.isF32());
}

LogicalResult RaggedEinsumOp::verify() {
  FailureOr<EinsumSpec> spec = verifySpec(*this, getSpec(), 3);
  if (failed(spec) || failed(verifyTerms(*this, {{spec->inputs[0], getLhs()},
                                                 {spec->inputs[1], getRhs()},
                                                 {spec->inputs[2], getBegins()},
                                                 {spec->inputs[2], getEnds()},
                                                 {spec->result, getOutput()}})))
    return failure(); // (C1)
  auto has = [&](unsigned term) {
    return llvm::is_contained(spec->inputs[term], getRows().front());
  };
  if (getRows().size() != 1 || has(2) || (!has(0) && !has(1))) // (C2)
    return emitOpError("rows: expected a letter of the operands, and not of "
                       "the bounds, but got \"")
           << getRows() << "\"";
  Type lhs = elementOf(getLhs()), rhs = elementOf(getRhs());
  Type out = elementOf(getOutput());
  if (lhs != rhs || !multiplies(lhs, out)) // (C3)
    return emitOpError("does not multiply ")
           << lhs << " and " << rhs << " into " << out;
  Type bounds = elementOf(getBegins());
  if (bounds != elementOf(getEnds()) ||
      (!bounds.isInteger(32) && !bounds.isInteger(64)))
    return emitOpError("expected bounds of i32, or both of i64, but got ")
           << bounds << " and " << elementOf(getEnds());
  return success();
}

/// Of rows that are in one group each, as rows x columns x sum is the root of
/// the product of the operands' elements.
double RaggedEinsumOp::countTerms() {
  auto elements = [](Value value) {
    return static_cast<double>(
        cast<ShapedType>(value.getType()).getNumElements());
  };
  double product =
      elements(getLhs()) * elements(getRhs()) * elements(getOutput());
  return std::sqrt(product / std::max(elements(getBegins()), 1.0));
}

/// How many groups share the rows of one matrix.
static int64_t countGroups(const ProductTerms &terms, char rows) {
  const auto &operands = terms.spec.inputs;
  const auto &matrix = operands[llvm::is_contained(operands[0], rows) ? 0 : 1];
  int64_t groups = 1;
  for (auto [letter, size] : llvm::zip_equal(terms.letters, terms.sizes))
    if (llvm::is_contained(operands[2], letter) &&
        !llvm::is_contained(matrix, letter))
      groups *= size;
  return std::max<int64_t>(1, groups);
}

/// Of groups of equal sizes, each with a product of its own.
std::optional<ProductShape> RaggedEinsumOp::getProductShape() {
  ProductTerms terms = getTerms();
  auto has = [&](unsigned term, char letter) {
    return llvm::is_contained(terms.spec.inputs[term], letter);
  };
  auto partOf = [&](char letter, ProductShape &shape) -> int64_t & {
    if (has(2, letter))
      return shape.batch;
    if (!llvm::is_contained(terms.spec.result, letter))
      return shape.k;
    if (has(0, letter))
      return has(1, letter) ? shape.batch : shape.m;
    return shape.n;
  };
  char rows = getRows().front();
  ProductShape shape;
  shape.hasGroups = true;
  for (auto [letter, size] : llvm::zip_equal(terms.letters, terms.sizes))
    partOf(letter, shape) *=
        letter == rows ? llvm::divideCeil(size, countGroups(terms, rows))
                       : size;
  return shape;
}

} // namespace shoal::rt
