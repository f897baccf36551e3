// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Triangular and orthogonal factors, and what is solved by them.

#ifndef SHOAL_LIB_LINEARALGEBRA_FACTORS_H
#define SHOAL_LIB_LINEARALGEBRA_FACTORS_H

#include "Routines.h"

namespace shoal::lapack {

/// Whether letter k is the smaller one of m and n.
inline bool hasSmaller(const Batch &batch) {
  return batch.size('k') == std::min(batch.size('m'), batch.size('n'));
}

/// a = P L U.
template <typename T>
class Getrf : public Routine<T> {
public:
  static Signature signatureOf(std::string_view) {
    return {{{Numbers::Own, "mn"}},
            {{Numbers::Own, "mn"},
             {Numbers::Integer, "k"},
             {Numbers::Integer, ""}}};
  }
  static bool accepts(const Batch &batch) {
    return batch.options.empty() && hasSmaller(batch);
  }

  Getrf(const Batch &batch, const Library &library)
      : Routine<T>(batch, library, "getrf", "getrf"),
        a(this->room(batch.operands[0].size())),
        pivots(this->template room<Integer>(batch.size('k'))) {}

  void run(int64_t item) {
    Integer m = this->size('m'), n = this->size('n'), info = 0;
    Integer leading = this->leading('m');
    readItem(this->batch.operands[0], item, a.data());
    if (m > 0 && n > 0)
      this->call(&m, &n, a.data(), &leading, pivots.data(), &info);
    writeItem(this->batch.results[0], item, a.data());
    writeItem(this->batch.results[1], item, pivots.data());
    this->writeInfo(2, item, info);
  }

private:
  std::vector<T> a;
  std::vector<Integer> pivots;
};

/// a = L L', or U' U.
template <typename T>
class Potrf : public Routine<T> {
public:
  static Signature signatureOf(std::string_view) {
    return {{{Numbers::Own, "nn"}},
            {{Numbers::Own, "nn"}, {Numbers::Integer, ""}}};
  }
  static bool accepts(const Batch &batch) {
    return areLetters(batch.options, {"LU"});
  }

  Potrf(const Batch &batch, const Library &library)
      : Routine<T>(batch, library, "potrf", "potrf"),
        a(this->room(batch.operands[0].size())) {}

  void run(int64_t item) {
    Integer n = this->size('n'), leading = this->leading('n'), info = 0;
    const char *uplo = this->batch.options.data();
    readItem(this->batch.operands[0], item, a.data());
    if (n > 0)
      this->call(uplo, &n, a.data(), &leading, &info, size_t(1));
    writeItem(this->batch.results[0], item, a.data());
    this->writeInfo(1, item, info);
  }

private:
  std::vector<T> a;
};

/// x of a x = b, or of x a = b.
template <typename T>
class Trsm : public Routine<T> {
public:
  static Signature signatureOf(std::string_view options) {
    std::string_view b = options.starts_with('L') ? "np" : "mn";
    return {{{Numbers::Own, "nn"}, {Numbers::Own, b}}, {{Numbers::Own, b}}};
  }
  static bool accepts(const Batch &batch) {
    return areLetters(batch.options, {"LR", "LU", "NTC", "NU"});
  }

  Trsm(const Batch &batch, const Library &library)
      : Routine<T>(batch, library, "trsm", "trsm"),
        a(this->room(batch.operands[0].size())),
        b(this->room(batch.operands[1].size())) {}

  void run(int64_t item) {
    const Array &right = this->batch.operands[1];
    const char *letters = this->batch.options.data();
    auto m = static_cast<Integer>(right.rows),
         n = static_cast<Integer>(right.columns);
    Integer order = this->leading('n'), leading = std::max(m, 1);
    T one = 1;
    readItem(this->batch.operands[0], item, a.data());
    readItem(right, item, b.data());
    if (m > 0 && n > 0)
      this->call(letters, letters + 1, letters + 2, letters + 3, &m, &n, &one,
                 a.data(), &order, b.data(), &leading, size_t(1), size_t(1),
                 size_t(1), size_t(1));
    writeItem(this->batch.results[0], item, b.data());
  }

private:
  std::vector<T> a, b;
};

/// a = Q R, with Q as reflectors below R and their scales.
template <typename T>
class Geqrf : public Routine<T> {
public:
  static Signature signatureOf(std::string_view) {
    return {{{Numbers::Own, "mn"}},
            {{Numbers::Own, "mn"}, {Numbers::Own, "k"}}};
  }
  static bool accepts(const Batch &batch) {
    return batch.options.empty() && hasSmaller(batch);
  }

  Geqrf(const Batch &batch, const Library &library)
      : Routine<T>(batch, library, "geqrf", "geqrf"),
        a(this->room(batch.operands[0].size())),
        scales(this->room(batch.size('k'))), work(1) {
    if (!this->isThere())
      return;
    factorise(/*length=*/-1);
    work = this->room(this->lengthOf(work[0]));
  }

  void run(int64_t item) {
    readItem(this->batch.operands[0], item, a.data());
    if (this->batch.size('k') > 0)
      factorise(static_cast<Integer>(work.size()));
    writeItem(this->batch.results[0], item, a.data());
    writeItem(this->batch.results[1], item, scales.data());
  }

private:
  void factorise(Integer length) {
    Integer m = this->size('m'), n = this->size('n'), info = 0;
    Integer leading = this->leading('m');
    this->call(&m, &n, a.data(), &leading, scales.data(), work.data(), &length,
               &info);
  }

  std::vector<T> a, scales, work;
};

/// The first columns of the Q that reflectors and scales say.
template <typename T>
class Orgqr : public Routine<T> {
public:
  static Signature signatureOf(std::string_view) {
    return {{{Numbers::Own, "mn"}, {Numbers::Own, "t"}},
            {{Numbers::Own, "mn"}}};
  }
  static bool accepts(const Batch &batch) {
    return batch.options.empty() && batch.size('n') <= batch.size('m') &&
           batch.size('t') <= batch.size('n');
  }

  Orgqr(const Batch &batch, const Library &library)
      : Routine<T>(batch, library, "orgqr", "ungqr"),
        a(this->room(batch.operands[0].size())),
        scales(this->room(batch.size('t'))), work(1) {
    if (!this->isThere())
      return;
    multiply(/*length=*/-1);
    work = this->room(this->lengthOf(work[0]));
  }

  void run(int64_t item) {
    readItem(this->batch.operands[0], item, a.data());
    readItem(this->batch.operands[1], item, scales.data());
    if (this->batch.size('n') > 0)
      multiply(static_cast<Integer>(work.size()));
    writeItem(this->batch.results[0], item, a.data());
  }

private:
  void multiply(Integer length) {
    Integer m = this->size('m'), n = this->size('n'), t = this->size('t');
    Integer leading = this->leading('m'), info = 0;
    this->call(&m, &n, &t, a.data(), &leading, scales.data(), work.data(),
               &length, &info);
  }

  std::vector<T> a, scales, work;
};

} // namespace shoal::lapack

#endif // SHOAL_LIB_LINEARALGEBRA_FACTORS_H
