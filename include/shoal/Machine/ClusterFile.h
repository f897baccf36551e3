// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Machine files: a Cluster as TOML. Every key is named in one place, for
// reading and for writing (lib/Machine/ClusterKeys.h).

#ifndef SHOAL_MACHINE_CLUSTERFILE_H
#define SHOAL_MACHINE_CLUSTERFILE_H

#include "shoal/Machine/Cluster.h"
#include "shoal/Support/Result.h"
#include <string_view>

namespace shoal {

/// The cluster that the text of a machine file describes. `name` is what errors
/// call the file: "dgx.toml:7: unknown key chip.memroy: did you mean memory?".
support::Result<Cluster> parseCluster(std::string_view text,
                                      std::string_view name);

/// That of a file.
support::Result<Cluster> readCluster(const std::string &path);

/// A text that parseCluster reads as the same cluster.
std::string writeCluster(const Cluster &cluster);

} // namespace shoal

#endif // SHOAL_MACHINE_CLUSTERFILE_H
