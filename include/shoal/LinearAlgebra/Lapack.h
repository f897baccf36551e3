// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Functions for custom_call that have LAPACK factorise a batch of matrices, for
// the runtime and for the interpreter. Each library finds LAPACK in its way, so
// nothing here is linked with it.
//
//   shoal_lapack_getrf   (a: mn) -> (lu: mn, pivots: k of i32, info)
//   shoal_lapack_geqrf   (a: mn) -> (r and reflectors: mn, scales: k)
//   shoal_lapack_orgqr   (reflectors: mn, scales: t) -> (q: mn)
//   shoal_lapack_syevd   (a: nn) -> (vectors: nn, real values: n, info)
//   shoal_lapack_gesdd   (a: mn) -> (real values: k, u, vt, info)
//   shoal_lapack_geev    (a: nn) -> (values: n, left: nn, right: nn, info)
//   shoal_lapack_potrf   (a: nn) -> (factor: nn, info)
//   shoal_lapack_trsm    (a: nn, b: mp) -> (x: mp)
//
// with k = min(m, n), and batch dimensions in front, the same of all. Numbers
// are f32 or f64; complex ones, as values and vectors of geev always are, are
// two tensors, real and imaginary halves. `config` has LAPACK's letters in its
// order: uplo of syevd and potrf, jobz of gesdd, jobvl and jobvr of geev, side,
// uplo, transa and diag of trsm; what they say is not made is no result. `info`
// is LAPACK's, an i32; what fails says it
// there. Matrices with infinities or NaN have no eigenvalues nor singular
// values: `info` is not 0, and all else is 0.

#ifndef SHOAL_LINEARALGEBRA_LAPACK_H
#define SHOAL_LINEARALGEBRA_LAPACK_H

#include "shoal/Runtime/CustomCall.h"

#include <cstdint>
#include <functional>
#include <string_view>

namespace shoal::lapack {

/// Whether custom_call knows the function of this name without a library of the
/// user's. It is in the runtime of CPUs.
inline bool isFunction(std::string_view name) {
  return name.starts_with("shoal_lapack_");
}

/// What a caller has: LAPACK, and threads.
struct Library {
  /// The address of a routine by its name in Fortran, "sgetrf_"; null where
  /// there is none.
  void *(*find)(const char *routine);
  /// Calls body(begin, end) for ranges that together are `count` matrices of so
  /// many multiplications each, maybe at the same time.
  void (*share)(int64_t count, double terms,
                const std::function<void(int64_t, int64_t)> &body);
};

/// What is returned, where not 0, as custom_call's error tells it.
enum Status : int {
  /// Operands and results, or `config`, are not the function's.
  NoSuchForm = 1,
  /// A matrix has more rows or columns than LAPACK counts.
  TooLarge = 2,
  /// The library has no such routine.
  NoRoutine = 3,
};

/// Runs the function on the call's batch. Matrices do not depend on each other,
/// so results are the same however they are shared.
int run(std::string_view function, const shoal_custom_call &call,
        const Library &library);

} // namespace shoal::lapack

#endif // SHOAL_LINEARALGEBRA_LAPACK_H
