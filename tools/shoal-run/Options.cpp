// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Options.h"

#include "shoal/Transforms/Options/PartitionFlags.h"
#include "llvm/Support/CommandLine.h"

namespace cl = llvm::cl;

namespace shoal::run {

template <typename T>
static std::optional<T> given(const cl::opt<T> &option) {
  if (option.getNumOccurrences() == 0)
    return std::nullopt;
  return option.getValue();
}

Options parseOptions(int argc, char **argv) {
  cl::OptionCategory category("shoal-run options");
  cl::opt<std::string> program(cl::Positional, cl::desc("PROGRAM.mlir"),
                               cl::init("-"), cl::cat(category));
  cl::opt<std::string> entry(
      "entry", cl::value_desc("name"), cl::cat(category),
      cl::desc("The function to run (default: the only public one, or main)"));
  cl::list<std::string> inputs(
      "input", cl::value_desc("name=file.npy"), cl::cat(category),
      cl::desc("An argument's global array; may be repeated"));
  cl::opt<unsigned long long> randomInputs(
      "random-inputs", cl::value_desc("seed"), cl::cat(category),
      cl::desc("Fill the inputs that are not given with random numbers"));
  cl::opt<std::string> outputDir(
      "output-dir", cl::value_desc("folder"), cl::cat(category),
      cl::desc("Write the results there, each to <name>.npy"));
  cl::opt<unsigned> devices(
      "devices", cl::value_desc("N"), cl::init(0), cl::cat(category),
      cl::desc("Partition the program and run the N devices of its mesh "
               "(default: 0, run the global program on one device)"));
  cl::opt<bool> compare(
      "compare", cl::cat(category),
      cl::desc("Run the partitioned and the global program and print the "
               "largest difference of each result"));
  cl::opt<double> tolerance(
      "tolerance", cl::value_desc("number"), cl::cat(category),
      cl::desc("With --compare: the largest absolute difference allowed, "
               "relative to the result's largest magnitude (default: by type, "
               "1e-5 for f32)"));
  cl::opt<bool> print("print", cl::cat(category),
                      cl::desc("Print all elements of the results"));
  cl::opt<bool> printShards(
      "print-shards", cl::cat(category),
      cl::desc("Print what each device holds of the results"));
  PartitionFlags partition(category);
  cl::list<std::string> customCalls(
      "custom-calls", cl::value_desc("library"), cl::cat(category),
      cl::desc("A shared library with functions that custom_call names; may be "
               "repeated"));
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, "Shoal reference interpreter\n");
  return {program,   entry,       inputs,          given(randomInputs),
          outputDir, devices,     compare,         given(tolerance),
          print,     printShards, partition.get(), customCalls};
}

} // namespace shoal::run
