// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Machines.h"
#include "shoal/Machine/ClusterFile.h"
#include "shoal/Machine/StepTime.h"
#include "llvm/ADT/STLExtras.h"
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace nb::literals;
using namespace shoal;

using Sizes = std::vector<std::pair<int64_t, int64_t>>;

static Cluster parse(const std::string &text, const std::string &name) {
  support::Result<Cluster> cluster = parseCluster(text, name);
  if (!cluster)
    throw nb::value_error(cluster.error().message.c_str());
  return *cluster;
}

static CollectiveKind kindOf(const std::string &name) {
  const auto *found = llvm::find_if(kCollectiveKinds, [&](CollectiveKind kind) {
    return name == nameOf(kind);
  });
  if (found == kCollectiveKinds.end())
    throw nb::value_error(("no collective: " + name).c_str());
  return *found;
}

static double priceOf(const Cluster &cluster, const std::string &kind,
                      const Sizes &axes, int64_t bytes) {
  llvm::SmallVector<AxisSpan> spans;
  for (auto [size, stride] : axes)
    spans.push_back({size, stride});
  GroupCounts counts = countMembers(cluster, spans);
  return inSeconds(priceCollective(cluster, kindOf(kind), counts, bytes).time);
}

using Shape = std::tuple<int64_t, int64_t, int64_t, int64_t>;

static double priceOfProduct(const Cluster &cluster, const std::string &type,
                             Shape shape, int64_t bytes, bool hasGroups) {
  auto [batch, m, n, k] = shape;
  ProductShape product{batch, m, n, k, hasGroups};
  return inSeconds(priceProduct(cluster.chip, type, product, bytes).time);
}

static double priceOfKernel(const Cluster &cluster, int64_t bytes) {
  return inSeconds(priceKernel(cluster.chip, bytes).time);
}

static std::vector<std::pair<std::string, int64_t>>
levelsOf(const Cluster &cluster) {
  std::vector<std::pair<std::string, int64_t>> levels;
  levels.reserve(cluster.levels.size());
  for (const Level &level : cluster.levels)
    levels.emplace_back(level.name, level.size);
  return levels;
}

void shoal::python::bindMachines(nb::module_ &m) {
  nb::class_<Cluster>(m, "Cluster", "A machine file that was read.")
      .def_static("parse", &parse, "text"_a, "name"_a,
                  "ValueError with the place in the file `name`.")
      .def_ro("name", &Cluster::name)
      .def_ro("source", &Cluster::source)
      .def_prop_ro("devices", &Cluster::devices)
      .def_prop_ro("levels", &levelsOf, "Names and sizes, innermost first.")
      .def_prop_ro(
          "memory",
          [](const Cluster &self) {
            return self.chip.memory - self.chip.reserved;
          },
          "Bytes of a device that programs can have.")
      .def_prop_ro("flops", [](const Cluster &self) { return self.chip.flops; })
      .def_prop_ro(
          "attention",
          [](const Cluster &self) { return self.chip.attentionEfficiency; })
      .def_prop_ro("launch",
                   [](const Cluster &self) { return self.chip.launch; })
      .def_prop_ro("overlaps",
                   [](const Cluster &self) { return self.chip.overlaps; })
      .def_prop_ro("overlap_tax",
                   [](const Cluster &self) { return self.chip.overlapTax; })
      .def("to_text", &writeCluster, "The file with all of its keys.")
      .def("price_collective", &priceOf, "kind"_a, "axes"_a, "bytes"_a,
           "Seconds of a collective of groups over axes, each a size and a "
           "stride of device numbers. bytes: what the busiest device sends.")
      .def("price_product", &priceOfProduct, "type"_a, "shape"_a, "bytes"_a,
           "has_groups"_a,
           "Seconds of a product of batch, m, n and k; of groups of rows.")
      .def("price_kernel", &priceOfKernel, "bytes"_a,
           "Seconds of a kernel that reads and writes so many bytes.");
}
