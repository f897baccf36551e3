// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "EinsumTerms.h"
#include "mlir/IR/PatternMatch.h"
#include "shoal/Dialect/Shoal/IR/FloatTypes.h"
#include "shoal/Dialect/Shoal/IR/StructureOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>

using namespace mlir;
using namespace shoal;

#define GET_OP_CLASSES
#include "shoal/Dialect/Shoal/IR/ContractionOps.cpp.inc"

static bool readLetters(llvm::StringRef term, llvm::SmallVectorImpl<char> &out,
                        std::string &error) {
  for (char c : term) {
    if (!llvm::isAlpha(c)) {
      error =
          llvm::formatv("expected letters in \"{0}\" but got '{1}'", term, c);
      return false;
    }
    out.push_back(c);
  }
  return true;
}

std::optional<EinsumSpec> EinsumSpec::parse(llvm::StringRef spec,
                                            std::string &error) {
  auto [inputs, result] = spec.split("->");
  if (!spec.contains("->") || result.contains("->")) {
    error = "expected one \"->\" between operands and result";
    return std::nullopt;
  }
  EinsumSpec parsed;
  llvm::SmallVector<llvm::StringRef, 2> terms;
  inputs.split(terms, ',');
  for (llvm::StringRef term : terms)
    if (!readLetters(term, parsed.inputs.emplace_back(), error))
      return std::nullopt;
  if (!readLetters(result, parsed.result, error))
    return std::nullopt;
  return parsed;
}

EinsumSpec EinsumSpec::of(llvm::StringRef spec) {
  std::string error;
  std::optional<EinsumSpec> parsed = parse(spec, error);
  assert(parsed && "the verifier has seen to it");
  return *parsed;
}

//===----------------------------------------------------------------------===//
// Verifier
//===----------------------------------------------------------------------===//

namespace {

/// Where a letter was first seen, and its size there.
struct LetterPlace {
  unsigned operand;
  unsigned dim;
  int64_t size;
};
using LetterPlaces = std::map<char, LetterPlace>;

} // namespace

/// A letter per dimension.
static LogicalResult verifyRank(Operation *op, StringRef text,
                                const Twine &what, Value value,
                                size_t letters) {
  size_t rank = tensorTypeOf(value).getRank();
  if (rank == letters)
    return success();
  return op->emitOpError() << what << ": rank " << rank << " but " << letters
                           << " letters in \"" << text << "\"";
}

/// The sizes of a tensor agree with the places seen before.
static LogicalResult verifySizes(Operation *op, const Twine &what, Value value,
                                 ArrayRef<char> letters,
                                 const LetterPlaces &places) {
  for (auto [dim, letter] : llvm::enumerate(letters)) {
    auto place = places.find(letter);
    int64_t size = tensorTypeOf(value).getDimSize(dim);
    if (place == places.end() || place->second.size == size)
      continue;
    auto [operand, otherDim, otherSize] = place->second;
    InFlightDiagnostic error = op->emitOpError()
                               << what << " dim " << dim << ": letter '"
                               << StringRef(&letter, 1) << "' has size " << size
                               << " but operand " << operand << " dim "
                               << otherDim << " has " << otherSize;
    error.attachNote(op->getOperand(operand).getLoc())
        << "operand " << operand << " is defined here";
    return error;
  }
  return success();
}

/// The result's letters stand in operands, and once in the result.
static LogicalResult verifyResultLetters(Operation *op, ArrayRef<char> result,
                                         const LetterPlaces &places) {
  for (auto [dim, letter] : llvm::enumerate(result)) {
    if (!places.contains(letter))
      return op->emitOpError() << "result 0 dim " << dim << ": letter '"
                               << StringRef(&letter, 1) << "' is in no operand";
    if (llvm::is_contained(result.take_front(dim), letter))
      return op->emitOpError()
             << "result 0 dim " << dim << ": letter '" << StringRef(&letter, 1)
             << "' occurs twice in the result";
  }
  return success();
}

LogicalResult shoal::verifyTerms(Operation *op, StringRef text,
                                 const EinsumSpec &spec, ValueRange inputs) {
  LetterPlaces places;
  for (auto [i, input] : llvm::enumerate(inputs)) {
    ArrayRef<char> letters = spec.inputs[i];
    std::string what = ("operand " + Twine(i)).str();
    if (failed(verifyRank(op, text, what, input, letters.size())))
      return failure();
    for (auto [dim, letter] : llvm::enumerate(letters))
      places.try_emplace(letter,
                         LetterPlace{static_cast<unsigned>(i),
                                     static_cast<unsigned>(dim),
                                     tensorTypeOf(input).getDimSize(dim)});
    if (failed(verifySizes(op, what, input, letters, places)))
      return failure();
  }
  Value result = op->getResult(0);
  if (failed(verifyRank(op, text, "result 0", result, spec.result.size())) ||
      failed(verifyResultLetters(op, spec.result, places)))
    return failure();
  return verifySizes(op, "result 0", result, spec.result, places);
}

LogicalResult shoal::verifyProductTypes(Operation *op, unsigned count) {
  Type element = tensorTypeOf(op->getOperand(0)).getElementType();
  for (unsigned i = 0; i < count; ++i) {
    Value operand = op->getOperand(i);
    bool areFloat8 =
        isFloat8(element) && isFloat8(tensorTypeOf(operand).getElementType());
    if (!areFloat8 &&
        failed(verifyElementType(op, "operand " + Twine(i), operand, element)))
      return failure();
  }
  if (element.isInteger(1))
    return op->emitOpError() << "operand 0: expected numbers but got i1";
  Type result = tensorTypeOf(op->getResult(0)).getElementType();
  bool isWider =
      isa<FloatType>(element) == isa<FloatType>(result) &&
      result.getIntOrFloatBitWidth() > element.getIntOrFloatBitWidth();
  if (isFloat8(element) && !isWider)
    return op->emitOpError() << "result 0: expected floats of 16 bits or more, "
                                "in which products of "
                             << element << " are summed, but got " << result;
  if (result != element && !isWider)
    return op->emitOpError()
           << "result 0: expected elements of type " << element
           << " or a wider one of its kind but got " << result;
  return success();
}

LogicalResult EinsumOp::verify() {
  std::string error;
  std::optional<EinsumSpec> spec = EinsumSpec::parse(getSpec(), error);
  if (!spec) // (E1)
    return emitOpError() << "spec \"" << getSpec() << "\": " << error;
  size_t count = getInputs().size();
  if (count != spec->inputs.size() || count > 2 || count == 0)
    return emitOpError() << "spec \"" << getSpec() << "\": expected 1 or 2 "
                         << "operands, as many as the op has, " << count
                         << ", but got " << spec->inputs.size();
  // (E2), (E3), (E4), (E5)
  if (failed(verifyTerms(*this, getSpec(), *spec, getInputs())))
    return failure();
  return verifyProductTypes(*this, count);
}

//===----------------------------------------------------------------------===//
// Folder and canonicaliser
//===----------------------------------------------------------------------===//

/// The spec of an einsum of one operand that only orders its letters anew:
/// for each dimension of the result the operand's. Nothing for others.
static std::optional<SmallVector<int64_t>> findPermutation(EinsumOp op) {
  EinsumSpec spec = op.getTerms();
  if (spec.inputs.size() != 1 || spec.inputs[0].size() != spec.result.size())
    return std::nullopt;
  ArrayRef<char> letters = spec.inputs[0];
  SmallVector<int64_t> permutation;
  for (char letter : spec.result) {
    if (llvm::count(letters, letter) != 1)
      return std::nullopt;
    permutation.push_back(llvm::find(letters, letter) - letters.begin());
  }
  return permutation;
}

OpFoldResult EinsumOp::fold(FoldAdaptor) {
  std::optional<SmallVector<int64_t>> permutation = findPermutation(*this);
  if (!permutation || !llvm::is_sorted(*permutation) ||
      getType() != getInputs()[0].getType())
    return {};
  return getInputs()[0];
}

static std::string toText(const EinsumSpec &spec) {
  auto join = [](ArrayRef<char> letters) {
    return StringRef(letters.data(), letters.size());
  };
  // Terms may be empty: a number has no letters.
  SmallVector<StringRef> inputs;
  for (const auto &input : spec.inputs)
    inputs.push_back(join(input));
  return llvm::join(inputs, ",") + "->" + join(spec.result).str();
}

/// Whether nothing is noted of the value that the op computes, as annotations
/// are, and `op` alone uses it.
static bool isPassedOn(Operation *producer, Operation *op) {
  return producer && producer->hasOneUse() &&
         producer->getBlock() == op->getBlock() &&
         producer->getDiscardableAttrDictionary().empty();
}

/// Whether nothing is noted of what `transpose` makes, and einsums of its block
/// alone use it: all of them can read what it reads, and it need not be kept
/// from the first to the last of them.
static bool isForEinsums(TransposeOp transpose) {
  return transpose && transpose->getDiscardableAttrDictionary().empty() &&
         llvm::all_of(transpose->getUsers(), [&](Operation *user) {
           return isa<EinsumOp>(user) &&
                  user->getBlock() == transpose->getBlock();
         });
}

/// An einsum of what was transposed reads it in the order that it has.
static LogicalResult readTransposed(EinsumOp op, PatternRewriter &rewriter) {
  EinsumSpec spec = op.getTerms();
  SmallVector<Value> inputs(op.getInputs());
  bool isChanged = false;
  for (auto [letters, input] : llvm::zip(spec.inputs, inputs)) {
    auto transpose = input.getDefiningOp<TransposeOp>();
    if (!isForEinsums(transpose))
      continue;
    SmallVector<char, 6> moved(letters.size());
    for (auto [dim, from] : llvm::enumerate(transpose.getPermutation()))
      moved[from] = letters[dim];
    letters = moved;
    input = transpose.getInput();
    isChanged = true;
  }
  if (!isChanged)
    return failure();
  rewriter.modifyOpInPlace(op, [&] {
    op.getInputsMutable().assign(inputs);
    op.setSpec(toText(spec));
  });
  return success();
}

/// An einsum whose result is transposed writes it in that order.
static LogicalResult writeTransposed(EinsumOp op, PatternRewriter &rewriter) {
  if (!op->hasOneUse())
    return failure();
  auto transpose = dyn_cast<TransposeOp>(*op->getUsers().begin());
  if (!transpose || !isPassedOn(op, transpose))
    return failure();
  EinsumSpec spec = op.getTerms();
  SmallVector<char, 6> letters;
  for (int64_t dim : transpose.getPermutation())
    letters.push_back(spec.result[dim]);
  spec.result = letters;
  auto einsum = EinsumOp::create(
      rewriter, rewriter.getFusedLoc({op.getLoc(), transpose.getLoc()}),
      transpose.getType(), toText(spec), op.getInputs());
  einsum->setDiscardableAttrs(transpose->getDiscardableAttrDictionary());
  rewriter.replaceOp(transpose, einsum);
  return success();
}

LogicalResult EinsumOp::canonicalize(EinsumOp op, PatternRewriter &rewriter) {
  if (succeeded(readTransposed(op, rewriter)) ||
      succeeded(writeTransposed(op, rewriter)))
    return success();
  std::optional<SmallVector<int64_t>> permutation = findPermutation(op);
  if (!permutation || op.getType().getElementType() !=
                          tensorTypeOf(op.getInputs()[0]).getElementType())
    return failure();
  rewriter.replaceOpWithNewOp<TransposeOp>(op, op.getType(), op.getInputs()[0],
                                           *permutation);
  return success();
}
