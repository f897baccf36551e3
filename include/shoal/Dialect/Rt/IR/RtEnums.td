// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The numbers are those of shoal/Calls/Codes.h.

#ifndef RT_ENUMS_TD
#define RT_ENUMS_TD

include "mlir/IR/EnumAttr.td"

def Rt_Activation : I32EnumAttr<"Activation", "what is done to each element of a product", [
    I32EnumAttrCase<"Relu", 1, "relu">, I32EnumAttrCase<"Gelu", 2, "gelu">]> {
  let cppNamespace = "::shoal::rt";
}

def Rt_Access : I32EnumAttr<"Access", "what a kernel does with a buffer", [
    I32EnumAttrCase<"Read", 1, "read">, I32EnumAttrCase<"Write", 2, "write">,
    I32EnumAttrCase<"ReadWrite", 3, "read_write">]> {
  let cppNamespace = "::shoal::rt";
}

def Rt_CheckRole : I32EnumAttr<"CheckRole", "what a value that is checked is", [
    I32EnumAttrCase<"Input", 0, "input">, I32EnumAttrCase<"Made", 1, "made">,
    I32EnumAttrCase<"Joined", 2, "joined">]> {
  let cppNamespace = "::shoal::rt";
}

def Rt_IterationEvent : I32EnumAttr<"IterationEvent", "what happens to a loop", [
    I32EnumAttrCase<"Begin", 0, "begin">, I32EnumAttrCase<"Next", 1, "next">,
    I32EnumAttrCase<"End", 2, "end">]> {
  let cppNamespace = "::shoal::rt";
}

#endif // RT_ENUMS_TD
