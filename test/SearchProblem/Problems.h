// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The problems of programs, as the compiler poses them.

#ifndef SHOAL_TEST_SEARCHPROBLEM_PROBLEMS_H
#define SHOAL_TEST_SEARCHPROBLEM_PROBLEMS_H

#include "Options.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace shoal {

/// Calls `visit` with the problem of each global function of the file, as
/// --shoal-assign extracts it behind the import, or --plan; false where the
/// file is no program, which diagnostics say.
bool forProblemsOf(const std::string &path, const SearchProblemOptions &options,
                   llvm::function_ref<void(AssignmentProblem)> visit);

/// Those that the unit tests draw.
void forRandomProblems(const SearchProblemOptions &options,
                       llvm::function_ref<void(AssignmentProblem)> visit);

} // namespace shoal

#endif // SHOAL_TEST_SEARCHPROBLEM_PROBLEMS_H
