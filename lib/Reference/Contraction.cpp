// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Contraction.h"
#include "MatrixProduct.h"
#include "Models.h"
#include "StridedView.h"

#include "shoal/Dialect/Shoal/IR/Shoal.h"

using namespace mlir;

namespace shoal::reference {

using Letters = SmallVector<char, 6>;

/// A tensor by letters: size and stride of each, the stride of a repeated
/// letter being the diagonal's.
struct LetterView {
  std::map<char, int64_t> size, stride;

  LetterView(ArrayRef<char> letters, ArrayRef<int64_t> shape) {
    SmallVector<int64_t, 4> strides = rowMajorStrides(shape);
    for (auto [d, letter] : llvm::enumerate(letters)) {
      size[letter] = shape[d];
      stride[letter] += strides[d];
    }
  }

  StridedView view(ArrayRef<char> letters) const {
    StridedView result;
    for (char letter : letters) {
      result.shape.push_back(size.at(letter));
      result.strides.push_back(stride.at(letter));
    }
    return result;
  }
};

static int64_t numPlaces(const StridedView &view) {
  return support::numElements(view.shape);
}

/// The operand summed over the letters `summed`, its other letters in the
/// order `kept`; a number of type T (double or uint64_t) each, not rounded.
template <typename T>
static std::vector<T> arrange(const Tensor &operand, ArrayRef<char> letters,
                              ArrayRef<char> kept, ArrayRef<char> summed) {
  LetterView byLetter(letters, operand.getShape());
  StridedView outer = byLetter.view(kept), inner = byLetter.view(summed);
  ArrayRef<Scalar> elements = operand.getElements();
  auto valueAt = [&](int64_t place) -> T {
    if constexpr (std::is_same_v<T, double>)
      return elements[place].f;
    else
      return elements[place].i;
  };
  std::vector<T> result;
  result.reserve(numPlaces(outer));
  forEachPlace(outer, [&](int64_t place) {
    if (summed.empty()) {
      result.push_back(valueAt(place));
      return;
    }
    inner.base = place;
    T sum = 0;
    forEachPlace(inner, [&](int64_t addend) { sum += valueAt(addend); });
    result.push_back(sum);
  });
  return result;
}

namespace {
/// The letters of a two-operand einsum by role.
struct Roles {
  Letters batch, contracting;
  Letters free[2];
  /// In one operand alone, and not in the result.
  Letters summed[2];

  explicit Roles(const EinsumSpec &spec) {
    for (char letter : spec.result)
      roleOfResultLetter(spec, letter).push_back(letter);
    for (int side : {0, 1})
      for (char letter : spec.inputs[side]) {
        bool isShared = llvm::is_contained(spec.inputs[1 - side], letter);
        Letters &role = isShared ? contracting : summed[side];
        if (!llvm::is_contained(spec.result, letter) &&
            !llvm::is_contained(role, letter))
          role.push_back(letter);
      }
  }

private:
  Letters &roleOfResultLetter(const EinsumSpec &spec, char letter) {
    bool isLeft = llvm::is_contained(spec.inputs[0], letter);
    bool isRight = llvm::is_contained(spec.inputs[1], letter);
    return isLeft && isRight ? batch : free[isLeft ? 0 : 1];
  }
};
} // namespace

static Letters join(std::initializer_list<ArrayRef<char>> lists) {
  Letters result;
  for (ArrayRef<char> list : lists)
    result.append(list.begin(), list.end());
  return result;
}

/// Rounds to the result's type and puts the letters, given in the order
/// `letters`, into the result's order.
template <typename T>
static Tensor toResult(ArrayRef<T> values, ArrayRef<char> letters,
                       const EinsumSpec &spec, const TensorType &type) {
  std::map<char, int64_t> size;
  for (auto [letter, extent] : llvm::zip_equal(spec.result, type.shape))
    size[letter] = extent;
  TensorType arranged = type;
  arranged.shape.clear();
  for (char letter : letters)
    arranged.shape.push_back(size.at(letter));
  Tensor tensor(arranged);
  for (auto [element, value] :
       llvm::zip_equal(tensor.getMutableElements(), values)) {
    if constexpr (std::is_same_v<T, double>)
      element.f = roundTo(type.element, value);
    else
      element.i = wrapTo(type.element, static_cast<int64_t>(value));
  }
  return gather(tensor, LetterView(letters, arranged.shape).view(spec.result));
}

template <typename T>
static Tensor multiplyTensors(const EinsumSpec &spec, ArrayRef<Tensor> operands,
                              const TensorType &type) {
  Roles roles(spec);
  std::vector<T> left = arrange<T>(
      operands[0], spec.inputs[0],
      join({roles.batch, roles.free[0], roles.contracting}), roles.summed[0]);
  std::vector<T> right = arrange<T>(
      operands[1], spec.inputs[1],
      join({roles.batch, roles.contracting, roles.free[1]}), roles.summed[1]);
  LetterView leftView(spec.inputs[0], operands[0].getShape());
  LetterView rightView(spec.inputs[1], operands[1].getShape());
  int64_t batches = numPlaces(leftView.view(roles.batch));
  int64_t rows = numPlaces(leftView.view(roles.free[0]));
  int64_t inner = numPlaces(leftView.view(roles.contracting));
  int64_t columns = numPlaces(rightView.view(roles.free[1]));
  std::vector<T> product(batches * rows * columns);
  for (int64_t b = 0; b < batches; ++b)
    multiply(left.data() + b * rows * inner, right.data() + b * inner * columns,
             product.data() + b * rows * columns, rows, inner, columns);
  return toResult<T>(product, join({roles.batch, roles.free[0], roles.free[1]}),
                     spec, type);
}

template <typename T>
static Tensor sumTensor(const EinsumSpec &spec, const Tensor &operand,
                        const TensorType &type) {
  Letters summed;
  for (char letter : spec.inputs[0])
    if (!llvm::is_contained(spec.result, letter) &&
        !llvm::is_contained(summed, letter))
      summed.push_back(letter);
  return toResult<T>(arrange<T>(operand, spec.inputs[0], spec.result, summed),
                     spec.result, spec, type);
}

template <typename T>
static Tensor evaluateAs(const EinsumSpec &spec, ArrayRef<Tensor> operands,
                         const TensorType &type) {
  return operands.size() == 1 ? sumTensor<T>(spec, operands[0], type)
                              : multiplyTensors<T>(spec, operands, type);
}

Tensor evaluateSpec(const EinsumSpec &spec, ArrayRef<Tensor> operands,
                    const TensorType &type) {
  return isFloat(type.element) ? evaluateAs<double>(spec, operands, type)
                               : evaluateAs<uint64_t>(spec, operands, type);
}

static FailureOr<Tensors> evaluateEinsum(EinsumOp op,
                                         ArrayRef<Tensor> operands) {
  return Tensors{evaluateSpec(op.getTerms(), operands, resultType(op))};
}

void registerContractionModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    attach<EinsumOp, evaluateEinsum>(context);
  });
}

} // namespace shoal::reference
