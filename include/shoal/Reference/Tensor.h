// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The interpreter's values: dense tensors of numbers.

#ifndef SHOAL_REFERENCE_TENSOR_H
#define SHOAL_REFERENCE_TENSOR_H

#include "mlir/IR/BuiltinTypes.h"
#include "shoal/Reference/Rounding.h"
#include "llvm/ADT/SmallVector.h"
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shoal::reference {

using support::isFloat;

/// Element type and shape. A scalar has rank 0.
struct TensorType {
  ElementType element = ElementType::F32;
  llvm::SmallVector<int64_t, 4> shape;

  static constexpr int64_t maxElements = int64_t(1) << 40;

  /// The type of a ranked tensor of static shape with at most maxElements, or
  /// of a scalar; `index` counts as i64. Nothing for any other type.
  static std::optional<TensorType> from(mlir::Type type);

  int64_t rank() const { return shape.size(); }
  int64_t numElements() const;
  TensorType withShape(llvm::ArrayRef<int64_t> newShape) const;
  /// "tensor<8x512xf32>"
  std::string str() const;
  bool operator==(const TensorType &) const = default;
};

/// One number: `f` in a tensor of a float type, `i` of an integer type.
union Scalar {
  double f;
  int64_t i;
};

/// Distances in elements between neighbours along each dimension, row-major.
llvm::SmallVector<int64_t, 4> rowMajorStrides(llvm::ArrayRef<int64_t> shape);

/// A dense row-major tensor. Every element is a value of the element type:
/// floats rounded, integers wrapped. Copies share their elements until one is
/// written.
class Tensor {
public:
  Tensor() = default;
  /// All zero.
  explicit Tensor(TensorType type);
  /// All unspecified, see Rounding.h.
  static Tensor unspecified(const TensorType &type);
  /// Elements as a .npy file or a dense_resource holds them, i1 one byte each.
  /// `bytes` has exactly the elements.
  static Tensor fromBytes(const TensorType &type, llvm::ArrayRef<char> bytes);
  std::vector<char> toBytes() const;

  const TensorType &getType() const { return type; }
  ElementType getElementType() const { return type.element; }
  llvm::ArrayRef<int64_t> getShape() const { return type.shape; }
  int64_t getNumElements() const { return elements ? elements->size() : 0; }

  llvm::ArrayRef<Scalar> getElements() const { return *elements; }
  llvm::MutableArrayRef<Scalar> getMutableElements();
  Scalar operator[](int64_t index) const { return (*elements)[index]; }

  /// The same elements in another shape.
  Tensor reshaped(llvm::ArrayRef<int64_t> shape) const;

  /// "[[1, 2], [3, nan]]", floats with 6 significant digits; past `limit`
  /// elements "...".
  std::string str(int64_t limit = std::numeric_limits<int64_t>::max()) const;

private:
  TensorType type;
  std::shared_ptr<std::vector<Scalar>> elements;
};

/// The element of `type` that is nearest to a number.
Scalar makeScalar(ElementType type, double value);
/// Where the value is unspecified.
Scalar unspecifiedScalar(ElementType type);
/// Equal, or both NaN.
bool isSame(ElementType type, Scalar a, Scalar b);

/// Has the process keep the memory of tensors that are gone for the next ones.
/// Else the system maps and clears it anew for each of more than 128 KiB, which
/// takes a third of the time of programs of such. For the tools' main
/// functions.
void keepFreedMemory();

} // namespace shoal::reference

#endif // SHOAL_REFERENCE_TENSOR_H
