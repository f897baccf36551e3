// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Makes a failing program small.

#ifndef SHOAL_FUZZ_SHRINK_H
#define SHOAL_FUZZ_SHRINK_H

#include "shoal/Fuzz/ProgramBuilder.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace shoal::fuzz {

/// A list of choices that cannot be made smaller by removing one span, or by
/// lowering one draw, without `fails` becoming false; or the smallest one after
/// `maxTries` calls. `replay` makes a program of a list and returns what it
/// drew.
std::vector<uint32_t>
shrink(std::vector<uint32_t> choices,
       llvm::function_ref<Choices(std::vector<uint32_t>)> replay,
       llvm::function_ref<bool(const std::vector<uint32_t> &)> fails,
       unsigned maxTries);

/// Makes the program smaller by edits of its ops, while `fails` stays true of
/// it: results dropped, ops replaced by arguments or by their operand,
/// annotations dropped. An argument that stands for an op holds smaller numbers
/// than the op's results, so that the results' errors remain bounds.
void reduce(Program &program, llvm::function_ref<bool(const Program &)> fails);

} // namespace shoal::fuzz

#endif // SHOAL_FUZZ_SHRINK_H
