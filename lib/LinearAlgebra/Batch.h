// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A call's tensors as batches of matrices, and matrices as LAPACK has them:
// column by column, complex numbers as such.

#ifndef SHOAL_LIB_LINEARALGEBRA_BATCH_H
#define SHOAL_LIB_LINEARALGEBRA_BATCH_H

#include "shoal/Runtime/CustomCall.h"

#include <complex>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

namespace shoal::lapack {

/// What an operand or a result is of.
enum class Numbers {
  /// What the routine is of: real or complex numbers.
  Own,
  Real,
  Complex,
  Integer,
};

/// An operand or a result of one matrix: a letter for each dimension.
struct Slot {
  Numbers numbers;
  std::string_view dims;
};

struct Signature {
  std::vector<Slot> operands, results;
};

/// An operand or a result of all matrices. A vector is one column, a number one
/// row of that.
struct Array {
  const shoal_tensor *real = nullptr;
  /// Null where numbers are not complex.
  const shoal_tensor *imag = nullptr;
  int64_t rows = 1, columns = 1;

  int64_t size() const { return rows * columns; }
};

/// A call, whose tensors fit the signature.
struct Batch {
  int64_t count = 1;
  bool isComplex = false, isDouble = false;
  std::string_view options;
  /// The size of each letter.
  std::map<char, int64_t> sizes;
  std::vector<Array> operands, results;

  /// Nothing where the tensors do not fit.
  static std::optional<Batch> read(const shoal_custom_call &call,
                                   const Signature &signature);

  int64_t size(char letter) const { return sizes.at(letter); }
};

template <typename T>
inline constexpr bool isComplex = false;
template <typename T>
inline constexpr bool isComplex<std::complex<T>> = true;

/// Real numbers of T's precision.
template <typename T>
using RealOf = decltype(std::real(T()));
template <typename T>
using ComplexOf = std::complex<RealOf<T>>;

/// Calls visit(place in the tensors, place in `columns`) for each number.
template <typename Visitor>
void forEachNumber(const Array &array, int64_t item, const Visitor &visit) {
  for (int64_t i = 0; i < array.rows; ++i)
    for (int64_t j = 0; j < array.columns; ++j)
      visit(item * array.size() + i * array.columns + j, j * array.rows + i);
}

template <typename T>
void readItem(const Array &array, int64_t item, T *columns) {
  const auto *real = static_cast<const RealOf<T> *>(array.real->data);
  forEachNumber(array, item, [&](int64_t from, int64_t to) {
    if constexpr (isComplex<T>)
      columns[to] = {real[from],
                     static_cast<const RealOf<T> *>(array.imag->data)[from]};
    else
      columns[to] = real[from];
  });
}

template <typename T>
void writeItem(const Array &array, int64_t item, const T *columns) {
  if constexpr (isComplex<T>) {
    auto *real = static_cast<RealOf<T> *>(array.real->data);
    auto *imag = static_cast<RealOf<T> *>(array.imag->data);
    forEachNumber(array, item, [&](int64_t to, int64_t from) {
      real[to] = columns[from].real();
      imag[to] = columns[from].imag();
    });
  } else {
    auto *numbers = static_cast<T *>(array.real->data);
    forEachNumber(array, item, [&](int64_t to, int64_t from) {
      numbers[to] = columns[from];
    });
  }
}

} // namespace shoal::lapack

#endif // SHOAL_LIB_LINEARALGEBRA_BATCH_H
