// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// LAPACK, which a program is linked with if it calls one of these functions.

#include "shoal/LinearAlgebra/Lapack.h"
#include "Threads.h"

#include <map>
#include <string_view>

// Each routine for the numbers s, d, c and z.
// clang-format off
#define SHOAL_FOR_EACH_ROUTINE(X)                                              \
  X(sgetrf) X(dgetrf) X(cgetrf) X(zgetrf)                                      \
  X(sgeqrf) X(dgeqrf) X(cgeqrf) X(zgeqrf)                                      \
  X(sorgqr) X(dorgqr) X(cungqr) X(zungqr)                                      \
  X(spotrf) X(dpotrf) X(cpotrf) X(zpotrf)                                      \
  X(strsm) X(dtrsm) X(ctrsm) X(ztrsm)                                          \
  X(ssyevd) X(dsyevd) X(cheevd) X(zheevd)                                      \
  X(sgesdd) X(dgesdd) X(cgesdd) X(zgesdd)                                      \
  X(sgeev) X(dgeev) X(cgeev) X(zgeev)
// clang-format on

// NOLINTBEGIN(readability-identifier-naming)
extern "C" {
#define SHOAL_DECLARE(name) void name##_();
SHOAL_FOR_EACH_ROUTINE(SHOAL_DECLARE)
#undef SHOAL_DECLARE
}
// NOLINTEND(readability-identifier-naming)

static void *findRoutine(const char *name) {
#define SHOAL_ENTER(name) {#name "_", reinterpret_cast<void *>(name##_)},
  static const std::map<std::string_view, void *> routines = {
      SHOAL_FOR_EACH_ROUTINE(SHOAL_ENTER)};
#undef SHOAL_ENTER
  auto found = routines.find(name);
  return found == routines.end() ? nullptr : found->second;
}

static void share(int64_t count, double terms,
                  const std::function<void(int64_t, int64_t)> &body) {
  shoal::rt::parallelFor({count, terms * shoal::rt::bytesPerTerm}, body);
}

// NOLINTBEGIN(readability-identifier-naming)
#define SHOAL_DEFINE(function)                                                 \
  extern "C" int function(const shoal_custom_call *call) {                     \
    return shoal::lapack::run(#function, *call, {findRoutine, share});         \
  }
SHOAL_DEFINE(shoal_lapack_getrf)
SHOAL_DEFINE(shoal_lapack_geqrf)
SHOAL_DEFINE(shoal_lapack_orgqr)
SHOAL_DEFINE(shoal_lapack_potrf)
SHOAL_DEFINE(shoal_lapack_trsm)
SHOAL_DEFINE(shoal_lapack_syevd)
SHOAL_DEFINE(shoal_lapack_gesdd)
SHOAL_DEFINE(shoal_lapack_geev)
#undef SHOAL_DEFINE
// NOLINTEND(readability-identifier-naming)
