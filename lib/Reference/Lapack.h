// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// LAPACK's functions of custom_call, for the interpreter. Factors and vectors
// are not unique, and those that a program gets are LAPACK's, so the meaning of
// such a call is what LAPACK makes of it.

#ifndef SHOAL_LIB_REFERENCE_LAPACK_H
#define SHOAL_LIB_REFERENCE_LAPACK_H

#include "shoal/Runtime/CustomCall.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace shoal::reference {

/// Opens LAPACK, once. Where it cannot be `message` says why.
bool findLapack(std::string &message);

/// Calls the function of this name, once LAPACK is open. Returns what it does.
int callLapack(llvm::StringRef function, const shoal_custom_call &call);

} // namespace shoal::reference

#endif // SHOAL_LIB_REFERENCE_LAPACK_H
