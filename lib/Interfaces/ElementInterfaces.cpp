// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Interfaces/ElementInterfaces.h"

#include "shoal/Interfaces/ElementInterfaces.cpp.inc"
