// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Reference/Tensor.h"

#include "shoal/Support/SmallFloat.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <cstring>
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace shoal::reference {

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static std::optional<ElementType> elementTypeFrom(mlir::Type type) {
  using Known = std::optional<ElementType>;
  if (auto integer = llvm::dyn_cast<mlir::IntegerType>(type)) {
    if (!integer.isSignless())
      return std::nullopt;
    switch (integer.getWidth()) {
    case 1:
      return ElementType::I1;
    case 8:
      return ElementType::I8;
    case 16:
      return ElementType::I16;
    case 32:
      return ElementType::I32;
    case 64:
      return ElementType::I64;
    default:
      return std::nullopt;
    }
  }
  return llvm::TypeSwitch<mlir::Type, Known>(type)
      .Case([](mlir::IndexType) { return ElementType::I64; })
      .Case([](mlir::Float32Type) { return ElementType::F32; })
      .Case([](mlir::Float64Type) { return ElementType::F64; })
      .Case([](mlir::BFloat16Type) { return ElementType::BF16; })
      .Case([](mlir::Float16Type) { return ElementType::F16; })
      .Case([](mlir::Float8E4M3FNType) { return ElementType::F8E4M3FN; })
      .Case([](mlir::Float8E5M2Type) { return ElementType::F8E5M2; })
      .Default([](mlir::Type) { return std::nullopt; });
}

/// Whether the sizes multiply to at most TensorType::maxElements.
static bool isAddressable(llvm::ArrayRef<int64_t> shape) {
  int64_t product = 1;
  for (int64_t size : shape)
    if (llvm::MulOverflow(product, size, product) ||
        product > TensorType::maxElements)
      return false;
  return true;
}

std::optional<TensorType> TensorType::from(mlir::Type type) {
  TensorType result;
  if (auto shaped = llvm::dyn_cast<mlir::RankedTensorType>(type)) {
    if (!shaped.hasStaticShape() || !isAddressable(shaped.getShape()))
      return std::nullopt;
    result.shape.assign(shaped.getShape().begin(), shaped.getShape().end());
    type = shaped.getElementType();
  }
  std::optional<ElementType> element = elementTypeFrom(type);
  if (!element)
    return std::nullopt;
  result.element = *element;
  return result;
}

int64_t TensorType::numElements() const { return support::numElements(shape); }

TensorType TensorType::withShape(llvm::ArrayRef<int64_t> newShape) const {
  return {element, llvm::SmallVector<int64_t, 4>(newShape)};
}

std::string TensorType::str() const {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + std::string(support::elementTypeName(element)) + ">";
}

llvm::SmallVector<int64_t, 4> rowMajorStrides(llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t, 4> strides(shape.size(), 1);
  for (int64_t d = static_cast<int64_t>(shape.size()) - 2; d >= 0; --d)
    strides[d] = strides[d + 1] * shape[d + 1];
  return strides;
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

Scalar makeScalar(ElementType type, double value) {
  if (isFloat(type))
    return {.f = roundTo(type, value)};
  return {.i = wrapTo(type, static_cast<int64_t>(value))};
}

Scalar unspecifiedScalar(ElementType type) {
  if (isFloat(type))
    return {.f = unspecifiedFloat()};
  return {.i = unspecifiedInteger(type)};
}

bool isSame(ElementType type, Scalar a, Scalar b) {
  if (!isFloat(type))
    return a.i == b.i;
  return a.f == b.f || (std::isnan(a.f) && std::isnan(b.f));
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

Tensor::Tensor(TensorType type)
    : type(std::move(type)), elements(std::make_shared<std::vector<Scalar>>(
                                 this->type.numElements(), Scalar{.i = 0})) {}

Tensor Tensor::unspecified(const TensorType &type) {
  Tensor result(type);
  llvm::fill(*result.elements, unspecifiedScalar(type.element));
  return result;
}

llvm::MutableArrayRef<Scalar> Tensor::getMutableElements() {
  if (elements.use_count() > 1)
    elements = std::make_shared<std::vector<Scalar>>(*elements);
  return *elements;
}

Tensor Tensor::reshaped(llvm::ArrayRef<int64_t> shape) const {
  Tensor result = *this;
  result.type = type.withShape(shape);
  return result;
}

template <typename T>
static T load(const char *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

static Scalar decode(ElementType type, const char *bytes) {
  switch (type) {
  case ElementType::F32:
    return {.f = load<float>(bytes)};
  case ElementType::F64:
    return {.f = load<double>(bytes)};
  case ElementType::BF16:
    return {.f = support::toFloat(load<support::BFloat16>(bytes))};
  case ElementType::F16:
    return {.f = support::toFloat(load<support::Float16>(bytes))};
  case ElementType::F8E4M3FN:
    return {.f = support::toFloat(load<support::Float8E4M3FN>(bytes))};
  case ElementType::F8E5M2:
    return {.f = support::toFloat(load<support::Float8E5M2>(bytes))};
  case ElementType::I64:
    return {.i = load<int64_t>(bytes)};
  case ElementType::I32:
    return {.i = load<int32_t>(bytes)};
  case ElementType::I16:
    return {.i = load<int16_t>(bytes)};
  case ElementType::I8:
    return {.i = load<int8_t>(bytes)};
  case ElementType::I1:
    return {.i = load<int8_t>(bytes) != 0};
  }
  llvm_unreachable("unknown element type");
}

template <typename T>
static void store(char *bytes, T value) {
  std::memcpy(bytes, &value, sizeof(T));
}

static void encode(ElementType type, Scalar value, char *bytes) {
  switch (type) {
  case ElementType::F32:
    return store(bytes, static_cast<float>(value.f));
  case ElementType::F64:
    return store(bytes, value.f);
  case ElementType::BF16:
    return store(bytes, support::toBFloat16(static_cast<float>(value.f)));
  case ElementType::F16:
    return store(bytes, support::toFloat16(static_cast<float>(value.f)));
  case ElementType::F8E4M3FN:
    return store(bytes, support::toFloat8E4M3FN(static_cast<float>(value.f)));
  case ElementType::F8E5M2:
    return store(bytes, support::toFloat8E5M2(static_cast<float>(value.f)));
  case ElementType::I64:
    return store(bytes, value.i);
  case ElementType::I32:
    return store(bytes, static_cast<int32_t>(value.i));
  case ElementType::I16:
    return store(bytes, static_cast<int16_t>(value.i));
  case ElementType::I8:
  case ElementType::I1:
    return store(bytes, static_cast<int8_t>(value.i));
  }
}

Tensor Tensor::fromBytes(const TensorType &type, llvm::ArrayRef<char> bytes) {
  Tensor result(type);
  size_t size = support::elementSize(type.element);
  for (auto [i, element] : llvm::enumerate(*result.elements))
    element = decode(type.element, bytes.data() + i * size);
  return result;
}

std::vector<char> Tensor::toBytes() const {
  size_t size = support::elementSize(type.element);
  std::vector<char> bytes(elements->size() * size);
  for (auto [i, element] : llvm::enumerate(*elements))
    encode(type.element, element, bytes.data() + i * size);
  return bytes;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

namespace {
/// Writes nested brackets until `limit` elements are out.
struct Printer {
  const Tensor &tensor;
  int64_t limit;
  llvm::raw_ostream &os;
  int64_t next = 0;

  void printScalar() {
    Scalar value = tensor[next++];
    if (!isFloat(tensor.getElementType()))
      os << value.i;
    else if (std::isnan(value.f))
      os << "nan";
    else
      os << llvm::format("%.6g", value.f);
  }

  void print(llvm::ArrayRef<int64_t> shape) {
    if (shape.empty())
      return printScalar();
    os << '[';
    for (int64_t i = 0; i < shape[0]; ++i) {
      os << (i ? ", " : "");
      if (next >= limit) {
        os << "...";
        break;
      }
      print(shape.drop_front());
    }
    os << ']';
  }
};
} // namespace

std::string Tensor::str(int64_t limit) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  Printer{*this, limit, os}.print(type.shape);
  return text;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

void keepFreedMemory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
#endif
}

} // namespace shoal::reference
