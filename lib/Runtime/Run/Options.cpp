// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Options.h"

#include <charconv>

namespace shoal::rt {

namespace {
/// How a flag is documented and what takes its value.
struct Flag {
  std::string_view name;
  /// Empty if the flag has no value.
  std::string_view argument;
  std::string_view text;
  Status (*take)(Options &, std::string_view value);
  /// The only target whose programs have the flag; empty for all.
  std::string_view target = "";

  bool isFor(std::string_view other) const {
    return target.empty() || target == other;
  }
};
} // namespace

template <typename T>
static Status takeNumber(std::string_view value, T &number, T least) {
  auto [end, error] =
      std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() ||
      number < least)
    return Error{"\"" + std::string(value) + "\" is not a number of at least " +
                 std::to_string(least)};
  return std::nullopt;
}

Result<int64_t> parseThreads(std::string_view text) {
  constexpr int64_t most = 1024;
  int64_t number = 0;
  if (Status failed = takeNumber<int64_t>(text, number, 1))
    return *failed;
  if (number > most)
    return Error{"\"" + std::string(text) + "\" is more than " +
                 std::to_string(most)};
  return number;
}

static Status takeInput(Options &options, std::string_view value) {
  size_t equals = value.find('=');
  if (equals == std::string_view::npos || equals == 0 ||
      equals + 1 == value.size())
    return Error{"\"" + std::string(value) + "\" is not NAME=FILE.npy"};
  auto [entry, fresh] =
      options.inputs.emplace(value.substr(0, equals), value.substr(equals + 1));
  if (!fresh)
    return Error{"\"" + entry->first + "\" is given twice"};
  return std::nullopt;
}

static constexpr Flag flags[] = {
    {"--input", "NAME=FILE.npy",
     "global array for an input; each rank reads its shard alone", takeInput},
    {"--random-inputs", "SEED", "fill the inputs that are not given",
     [](Options &options, std::string_view value) {
       return takeNumber<uint64_t>(value, options.randomSeed.emplace(), 0);
     }},
    {"--output-dir", "DIR", "write each result as a global DIR/<name>.npy",
     [](Options &options, std::string_view value) -> Status {
       options.outputDir = value;
       return std::nullopt;
     }},
    {"--repeat", "N", "time N steps (1)",
     [](Options &options, std::string_view value) {
       return takeNumber<int64_t>(value, options.repeat, 1);
     }},
    {"--warmup", "K", "run K steps before (0)",
     [](Options &options, std::string_view value) {
       return takeNumber<int64_t>(value, options.warmup, 0);
     }},
    {"--stats", "FILE.json", "write times, bytes sent and memory",
     [](Options &options, std::string_view value) -> Status {
       options.statsFile = value;
       return std::nullopt;
     }},
    {"--census", "FILE",
     "write on which side of each threshold of sizes rank 0's calls were",
     [](Options &options, std::string_view value) -> Status {
       options.censusFile = value;
       return std::nullopt;
     }},
    {"--trace", "FILE.json",
     "write a Chrome/Perfetto trace, a lane for each rank",
     [](Options &options, std::string_view value) -> Status {
       options.traceFile = value;
       return std::nullopt;
     }},
    {"--threads", "N",
     "threads of a rank; else SHOAL_NUM_THREADS or its part of the cores",
     [](Options &options, std::string_view value) -> Status {
       Result<int64_t> number = parseThreads(value);
       if (!number)
         return number.error();
       options.threads = *number;
       return std::nullopt;
     },
     "cpu"},
    {"--check-memory", "",
     "end with an error where a step leaves its memory; slower",
     [](Options &options, std::string_view) -> Status {
       options.checkMemory = true;
       return std::nullopt;
     },
     "cpu"},
    {"--collective-timeout", "SECONDS",
     "end the job when ranks wait longer for one that does not run (60); 0: "
     "never",
     [](Options &options, std::string_view value) {
       return takeNumber<int64_t>(value, options.collectiveTimeout.emplace(),
                                  0);
     },
     "cpu"},
    {"--collective-timeout", "SECONDS",
     "end the job when a collective takes longer (300)",
     [](Options &options, std::string_view value) {
       return takeNumber<int64_t>(value, options.collectiveTimeout.emplace(),
                                  1);
     },
     "cuda"},
    {"--cuda-graph", "", "capture a step in a CUDA graph and launch that",
     [](Options &options, std::string_view) -> Status {
       options.cudaGraph = true;
       return std::nullopt;
     },
     "cuda"},
    {"--host-calls", "SOCKET",
     "call the functions of the process that listens there",
     [](Options &options, std::string_view value) -> Status {
       options.hostCallSocket = value;
       return std::nullopt;
     },
     "cpu"},
    {"--describe", "",
     "print the inputs, the results, the mesh and how products are computed",
     [](Options &options, std::string_view) -> Status {
       options.describe = true;
       return std::nullopt;
     }},
    {"--help", "", "print this text",
     [](Options &options, std::string_view) -> Status {
       options.help = true;
       return std::nullopt;
     }},
};

static const Flag *findFlag(std::string_view name, std::string_view target) {
  for (const Flag &flag : flags)
    if (flag.name == name && flag.isFor(target))
      return &flag;
  return nullptr;
}

static Error needsValue(const Flag &flag) {
  return {std::string(flag.name) + " needs a value: " + std::string(flag.name) +
          " " + std::string(flag.argument)};
}

Result<Options> parseOptions(int argc, char **argv, std::string_view target) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string_view argument = argv[i];
    size_t equals = argument.find('=');
    bool joined = equals != std::string_view::npos;
    const Flag *flag = findFlag(argument.substr(0, equals), target);
    if (!flag || (joined && flag->argument.empty()))
      return Error{"unknown argument \"" + std::string(argument) +
                   "\" (--help lists the flags)"};
    std::string_view value;
    if (!flag->argument.empty()) {
      if (!joined && i + 1 == argc)
        return needsValue(*flag);
      value = joined ? argument.substr(equals + 1) : argv[++i];
      if (value.empty())
        return needsValue(*flag);
    }
    if (Status failed = flag->take(options, value))
      return Error{std::string(flag->name) + ": " + failed->message};
  }
  return options;
}

static const Tensor *findInput(const Program &program, std::string_view name) {
  for (const Tensor &input : program.inputs)
    if (input.name == name)
      return &input;
  return nullptr;
}

static std::string inputList(const Program &program) {
  std::string list;
  for (const Tensor &input : program.inputs)
    list += (list.empty() ? "" : ", ") + input.name;
  return list.empty() ? "none" : list;
}

Status checkInputNames(const Program &program, const Options &options) {
  for (const auto &[name, file] : options.inputs)
    if (!findInput(program, name))
      return Error{"unknown input \"" + name + "\": the inputs are " +
                   inputList(program)};
  if (options.randomSeed)
    return std::nullopt;
  for (const Tensor &input : program.inputs)
    if (!options.inputs.contains(input.name))
      return Error{"missing input \"" + input.name +
                   "\": " + support::formatTensor(input.type, input.shape) +
                   "; give --input " + input.name +
                   "=FILE or --random-inputs=SEED"};
  return std::nullopt;
}

std::string helpText(const Program &program) {
  std::string text = program.name + ": compiled by Shoal for " +
                     std::to_string(program.devices) + " devices (" +
                     program.target + ")\n\nusage: mpirun -n " +
                     std::to_string(program.devices) + " PROGRAM [flags]\n\n";
  auto line = [&](std::string left, std::string_view right) {
    left.resize(std::max<size_t>(left.size() + 2, 30), ' ');
    text += "  " + left + std::string(right) + "\n";
  };
  for (const Flag &flag : flags)
    if (flag.isFor(program.target))
      line(std::string(flag.name) + " " + std::string(flag.argument),
           flag.text);
  return text;
}

static void describeTensor(std::string &text, const Program &program,
                           const Tensor &tensor) {
  text += "  " + tensor.name + ": " +
          support::formatTensor(tensor.type, tensor.shape) + ", " +
          tensor.sharding + ", per device " +
          support::formatShape(tensor.localShape);
  if (tensor.donated)
    text += ", donated";
  if (tensor.donor)
    text += ", in the memory of " + program.inputs[*tensor.donor].name;
  text += "\n";
}

static void describeMesh(std::string &text, const Mesh &mesh) {
  std::string axes, ids;
  for (const MeshAxis &axis : mesh.axes())
    axes += (axes.empty() ? "" : ", ") + ("\"" + axis.name + "\" = ") +
            std::to_string(axis.size);
  for (int64_t id : mesh.deviceIds())
    ids += (ids.empty() ? "" : ", ") + std::to_string(id);
  text += "mesh @" + mesh.name() + " = <[" + axes + "]" +
          (ids.empty() ? "" : ", device_ids = [" + ids + "]") + ">\n";
}

std::string describeText(const Program &program) {
  std::string text = "program " + program.name + ": " +
                     std::to_string(program.devices) + " devices, target " +
                     program.target + "\n";
  for (const Mesh &mesh : program.meshes)
    describeMesh(text, mesh);
  text += "inputs:\n";
  for (const Tensor &input : program.inputs)
    describeTensor(text, program, input);
  text += "results:\n";
  for (const Tensor &output : program.outputs)
    describeTensor(text, program, output);
  return text;
}

} // namespace shoal::rt
