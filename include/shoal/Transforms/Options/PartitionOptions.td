// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What users may set of the partitioner: the one list from which the passes,
// the pipelines, shoalc, shoal-run and Python have names and texts. Types and
// defaults are those of the struct PartitionOptions.

#ifndef SHOAL_TRANSFORMS_OPTIONS_PARTITIONOPTIONS_TD
#define SHOAL_TRANSFORMS_OPTIONS_PARTITIONOPTIONS_TD

include "llvm/TableGen/SearchableTable.td"
include "mlir/Pass/PassBase.td"

// A member of PartitionOptions, of this type, is the flag --<flag>=<placeholder>
// of the tools and the keyword of the same letters, with _ for -, of Python.
class PartitionOption<string member, string type, string flag,
                      string placeholder, string text> {
  string Member = member;
  string Type = type;
  code Pointer = "&::shoal::PartitionOptions::" # member;
  string Flag = flag;
  string Placeholder = placeholder;
  string Text = text;
}

def CombineBytes : PartitionOption<"combineBytes", "int64_t",
    "combine-bytes", "bytes",
    "The largest message that small collectives are combined to; 0 combines "
    "none">;
def MaxReplicatedBytes : PartitionOption<"maxReplicatedBytes", "int64_t",
    "max-replicated-bytes", "bytes",
    "The largest split value that may be gathered whole on every device "
    "although no annotation asks for it; negative for any">;
def AllowReplicated : PartitionOption<"allowReplicated",
    "std::vector<std::string>", "allow-replicated", "name,...",
    "Names of values that may be gathered whole however large">;
def WindowedEinsumBytes : PartitionOption<"windowedEinsumBytes", "int64_t",
    "windowed-einsum-bytes", "bytes",
    "The largest value between an einsum and a collective, gathered before or "
    "scattered behind it, to hold whole; larger ones become loops; 0 for no "
    "loops">;
def WindowedEinsumOverlap : PartitionOption<"windowedEinsumOverlap", "bool",
    "windowed-einsum-overlap", "",
    "Such loops of einsums also where they hold no less, for targets that send "
    "in the background">;

def DenseOneHots : PartitionOption<"denseOneHots", "bool",
    "dense-one-hots", "",
    "Einsums with one-hot operands stay products, zeros and all">;
def OneHotGain : PartitionOption<"oneHotGain", "double",
    "one-hot-gain", "times",
    "Multiply-adds that an einsum with one-hot operands must have for each "
    "element that is moved instead, to be rewritten so">;
def FlopsPerByte : PartitionOption<"flopsPerByte", "double",
    "flops-per-byte", "R",
    "Operations that take a device as long as sending one byte, by which "
    "shardings are chosen; 0 for the target's, with its latency of a "
    "collective">;
def MachineFile : PartitionOption<"machineFile", "std::string",
    "machine", "machine.toml",
    "Shardings are chosen by the seconds of a step on the cluster of this "
    "machine file; empty for bytes, by the target's own balance">;
def RepeatMargin : PartitionOption<"repeatMargin", "double",
    "repeat-margin", "times",
    "How many times work counts that devices repeat although annotations split "
    "an operand of it over them; 1 for once, like any other">;
def QuickSearch : PartitionOption<"quickSearch", "bool", "quick-search", "",
    "Look for shardings from fewer starts: about twice as fast, and now "
    "and then more is sent">;
def Lint : PartitionOption<"lint", "bool", "lint", "",
    "Say which annotations are dear, and what might stand in their place, "
    "which change nothing, and which axes of the mesh split nothing">;
def Removals : PartitionOption<"removals", "bool", "removals", "",
    "Say of all that is sent which annotation does away with it at the least "
    "price, and what is sent then; compiles the program anew for most of it">;
def Certify : PartitionOption<"certify", "bool", "certify", "",
    "Say what no shardings cost less than, and how far the chosen ones are from "
    "that; the search goes on from there">;
def WarnRepeatedWork : PartitionOption<"warnRepeatedWork", "double",
    "warn-repeated-work", "times",
    "Warn where all devices together compute more than so many times the "
    "operations of an even split; 0 for never">;
def MaxRepeatedWork : PartitionOption<"maxRepeatedWork", "double",
    "max-repeated-work", "times",
    "The most operations that all devices together may compute, in times of an "
    "even split; 0 for any number">;

def MemoryLimit : PartitionOption<"memoryLimit", "std::string",
    "memory-limit", "bytes",
    "The most that a device may hold, as 12GiB: backward passes compute again "
    "what they would hold beyond it; empty for any number, of a program for "
    "CUDA with no policy for its chip's: the given machine's, or 83.5 GB of an "
    "A100 (sm_80) and an H100 (sm_90), 189 of a B200 (sm_100), 285 of a B300 "
    "(sm_103)">;
def Remat : PartitionOption<"remat", "std::string", "remat", "policy",
    "What backward passes find saved, the rest being computed again: "
    "everything, nothing, dots, dots_no_batch, selective, offload or "
    "names:NAME,...; empty for everything, as far as a memory limit lets">;
def RematCollectives : PartitionOption<"rematCollectives", "std::string",
    "remat-collectives", "what",
    "What backward passes send again: save for nothing, params for gathered "
    "parameters, repeat for what costs least; empty for save">;

// As an option of the pass that reads it, which may call it otherwise.
class PassOptionOf<PartitionOption option, string arg = option.Flag,
                   string member = option.Member>
    : Option<member, arg, option.Type,
             "::shoal::PartitionOptions()." # option.Member, option.Text>;
class PassListOptionOf<PartitionOption option>
    : ListOption<option.Member, option.Flag, "std::string", option.Text>;

def PartitionOptionRows : GenericTable {
  let FilterClass = "PartitionOption";
  let CppTypeName = "PartitionOptionRow";
  let Fields = ["Pointer", "Flag", "Placeholder", "Text"];
  string TypeOf_Pointer = "code";
}

#endif // SHOAL_TRANSFORMS_OPTIONS_PARTITIONOPTIONS_TD
