// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What adds the generators of each family.

#ifndef SHOAL_LIB_FUZZ_OPS_GENERATORS_H
#define SHOAL_LIB_FUZZ_OPS_GENERATORS_H

#include "shoal/Fuzz/Generators.h"

namespace shoal::fuzz {

#define SHOAL_FAMILY(name) void add##name##Generators(Generators &generators);
#include "Families.def"

} // namespace shoal::fuzz

#endif // SHOAL_LIB_FUZZ_OPS_GENERATORS_H
