// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Program.h"

#include <nlohmann/json.hpp>

namespace shoal::rt {

using nlohmann::json;

size_t Tensor::localBytes() const {
  return support::numElements(localShape) * support::elementSize(type);
}

size_t totalBytes(const Program &program) {
  size_t bytes = program.arenaBytes + program.sharedBytes;
  for (const auto *tensors : {&program.inputs, &program.outputs})
    for (const Tensor &tensor : *tensors)
      if (!tensor.donor && !tensor.offset)
        bytes += tensor.localBytes();
  return bytes;
}

static Mesh parseMesh(const json &value) {
  std::vector<MeshAxis> axes;
  for (const json &axis : value.at("axes"))
    axes.push_back({axis.at("name"), axis.at("size")});
  std::vector<int64_t> ids;
  if (!value.at("device_ids").is_null())
    ids = value.at("device_ids").get<std::vector<int64_t>>();
  return Mesh(value.at("name"), std::move(axes), std::move(ids));
}

static Tensor parseTensor(const json &value) {
  Tensor tensor{value.at("name"),
                {},
                value.at("shape"),
                value.at("local_shape"),
                value.at("mesh"),
                {},
                value.at("sharding"),
                value.value("complex", false),
                value.value("donated", false),
                {},
                {}};
  if (value.contains("donor"))
    tensor.donor = value.at("donor").get<size_t>();
  if (value.contains("offset"))
    tensor.offset = value.at("offset").get<size_t>();
  std::string dtype = value.at("dtype");
  std::optional<ElementType> type = support::parseElementType(dtype);
  if (!type)
    throw std::runtime_error("\"" + tensor.name +
                             "\" has the unknown element type " + dtype);
  tensor.type = *type;
  for (const json &dim : value.at("dims")) {
    Axes &axes = tensor.dims.emplace_back();
    for (const json &axis : dim)
      axes.push_back({axis.at("axis"), axis.at("pre"), axis.at("size")});
  }
  return tensor;
}

static CollectiveInfo parseCollective(const json &value) {
  return {value.value("kind", ""), value.value("axes", ""),
          value.value("loc", ""), value.value("reason", ""),
          value.value("stream", int64_t(0))};
}

static HostCallInfo parseHostCall(const json &value) {
  HostCallInfo call{{}, value.at("name"), value.at("loc")};
  if (!value.at("number").is_null())
    call.number = value.at("number").get<int64_t>();
  return call;
}

static CudaProgram parseCuda(const json &root) {
  CudaProgram cuda;
  cuda.arch = root.at("arch");
  cuda.kernels = root.at("kernels");
  cuda.constantsOffset = root.at("constants_offset");
  cuda.constantsBytes = root.at("constants_bytes");
  cuda.tf32 = root.value("tf32", false);
  if (cuda.isEmulated())
    cuda.emulation = root.at("emulation");
  return cuda;
}

static Program parse(const json &root) {
  Program program{root.at("name"),
                  root.at("target"),
                  root.at("devices"),
                  root.at("arena_bytes"),
                  root.value("shared_bytes", size_t(0)),
                  {},
                  {},
                  {},
                  {},
                  {},
                  {},
                  root.value("checks", int64_t(0)),
                  {}};
  for (const json &mesh : root.at("meshes"))
    program.meshes.push_back(parseMesh(mesh));
  if (program.meshes.empty()) // nothing is sharded
    program.meshes.emplace_back(
        "devices", std::vector<MeshAxis>{{"device", program.devices}},
        std::vector<int64_t>());
  for (const json &input : root.at("inputs"))
    program.inputs.push_back(parseTensor(input));
  for (const json &output : root.at("outputs"))
    program.outputs.push_back(parseTensor(output));
  for (const json &collective : root.at("collectives"))
    program.collectives.push_back(parseCollective(collective));
  for (const json &call : root.value("host_calls", json::array()))
    program.hostCalls.push_back(parseHostCall(call));
  for (const json &product : root.value("products", json::array()))
    program.products.push_back(
        {product.at("ragged"), product.at("desc"), product.at("loc")});
  if (program.target == "cuda")
    program.cuda = parseCuda(root);
  return program;
}

Result<Program> parseProgram(const char *metadata) {
  // The library reports by exceptions; they end here.
  try {
    return parse(json::parse(metadata));
  } catch (const std::exception &problem) {
    return Error{std::string("malformed program metadata: ") + problem.what()};
  }
}

Block blockOf(const Program &program, const Tensor &tensor, int64_t rank) {
  const Mesh &mesh = program.meshes[tensor.mesh];
  int64_t position = mesh.positionOf(rank);
  Block block;
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    int64_t rows = tensor.localShape[d];
    int64_t begin = mesh.indexAt(position, tensor.dims[d]) * rows;
    begin = std::min(begin, tensor.shape[d]);
    block.offset.push_back(begin);
    block.extent.push_back(std::min(rows, tensor.shape[d] - begin));
  }
  return block;
}

bool ownsBlock(const Program &program, const Tensor &tensor, int64_t rank) {
  const Mesh &mesh = program.meshes[tensor.mesh];
  Axes used;
  for (const Axes &axes : tensor.dims)
    used.insert(used.end(), axes.begin(), axes.end());
  return mesh.groupBase(mesh.positionOf(rank), used) == 0;
}

} // namespace shoal::rt
