// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_PYTHON_NATIVE_MACHINES_H
#define SHOAL_PYTHON_NATIVE_MACHINES_H

#include <nanobind/nanobind.h>

namespace shoal::python {

/// The class Cluster: a machine file that was read, and prices on it.
void bindMachines(nanobind::module_ &m);

} // namespace shoal::python

#endif // SHOAL_PYTHON_NATIVE_MACHINES_H
