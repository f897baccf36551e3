// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// ragged_einsum: for each group the einsum of its rows, added up.

#include "Contraction.h"
#include "Models.h"
#include "StridedView.h"

#include "shoal/Dialect/Shoal/IR/ContractionOps.h"

using namespace mlir;

namespace shoal::reference {

using Letters = SmallVector<char, 6>;

namespace {
/// Where a group's part of each tensor lies: indices of the third term's
/// letters, and rows from `begin` to `end`.
struct Part {
  std::map<char, int64_t> index;
  char row;
  int64_t begin, end;

  /// The part of a tensor with these letters, without the indexed ones.
  StridedView view(ArrayRef<char> letters, ArrayRef<int64_t> shape) const {
    StridedView result;
    SmallVector<int64_t, 4> strides = rowMajorStrides(shape);
    for (auto [d, letter] : llvm::enumerate(letters)) {
      if (auto place = index.find(letter); place != index.end()) {
        result.base += place->second * strides[d];
        continue;
      }
      bool isRow = letter == row;
      result.base += isRow ? begin * strides[d] : 0;
      result.shape.push_back(isRow ? end - begin : shape[d]);
      result.strides.push_back(strides[d]);
    }
    return result;
  }
};
} // namespace

/// What is left of a term for one group.
static Letters withoutGroups(ArrayRef<char> term, const EinsumSpec &spec) {
  Letters kept;
  for (char letter : term)
    if (!llvm::is_contained(spec.inputs[2], letter))
      kept.push_back(letter);
  return kept;
}

/// Adds a group's result, of f64 or i64, to the sums.
static void addPart(const Tensor &part, const StridedView &view, Tensor &sums) {
  bool floats = isFloat(sums.getElementType());
  MutableArrayRef<Scalar> elements = sums.getMutableElements();
  ArrayRef<Scalar> addends = part.getElements();
  size_t next = 0;
  forEachPlace(view, [&](int64_t place) {
    Scalar addend = addends[next++];
    if (floats)
      elements[place].f += addend.f;
    else // wraps
      elements[place].i =
          static_cast<int64_t>(static_cast<uint64_t>(elements[place].i) +
                               static_cast<uint64_t>(addend.i));
  });
}

static FailureOr<Tensors> evaluateRagged(RaggedEinsumOp op,
                                         ArrayRef<Tensor> operands) {
  EinsumSpec spec = op.getTerms();
  TensorType type = resultType(op);
  TensorType wide = type;
  wide.element = isFloat(type.element) ? ElementType::F64 : ElementType::I64;
  Tensor sums(wide);

  EinsumSpec product;
  for (unsigned i = 0; i < 2; ++i)
    product.inputs.push_back(withoutGroups(spec.inputs[i], spec));
  product.result = withoutGroups(spec.result, spec);

  Part part;
  part.row = op.getRows().front();
  unsigned holder = llvm::is_contained(spec.inputs[0], part.row) ? 0 : 1;
  int64_t rows =
      operands[holder].getShape()[llvm::find(spec.inputs[holder], part.row) -
                                  spec.inputs[holder].begin()];
  ArrayRef<int64_t> groups = operands[2].getShape();
  for (int64_t g = 0; g < operands[2].getNumElements(); ++g) {
    int64_t rest = g;
    for (size_t d = groups.size(); d-- > 0; rest /= groups[d])
      part.index[spec.inputs[2][d]] = rest % groups[d];
    part.begin = std::clamp<int64_t>(operands[2][g].i, 0, rows);
    part.end = std::clamp<int64_t>(operands[3][g].i, 0, rows);
    if (part.begin >= part.end)
      continue;
    Tensor lhs =
        gather(operands[0], part.view(spec.inputs[0], operands[0].getShape()));
    Tensor rhs =
        gather(operands[1], part.view(spec.inputs[1], operands[1].getShape()));
    StridedView target = part.view(spec.result, type.shape);
    addPart(evaluateSpec(product, {lhs, rhs}, wide.withShape(target.shape)),
            target, sums);
  }

  Tensor result(type);
  for (auto [element, sum] :
       llvm::zip_equal(result.getMutableElements(), sums.getElements())) {
    if (isFloat(type.element))
      element.f = roundTo(type.element, sum.f);
    else
      element.i = wrapTo(type.element, sum.i);
  }
  return Tensors{result};
}

void registerContractionRaggedModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    attach<RaggedEinsumOp, evaluateRagged>(context);
  });
}

} // namespace shoal::reference
