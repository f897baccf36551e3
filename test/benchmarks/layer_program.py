# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The text of GShard's MoE layer (Algorithm 2) for any sizes."""

from dataclasses import dataclass


@dataclass
class Layer:
    """Sizes: groups, tokens a group, model, experts, capacity, hidden."""

    G: int
    S: int
    M: int
    E: int
    C: int
    H: int
    devices: int
    k: int = 2

    def text(self) -> str:
        def tensor(letters: str) -> str:
            sizes = "x".join(str(getattr(self, c)) for c in letters)
            return f"tensor<{sizes}xf32>"

        def einsum(spec: str) -> str:
            inputs, result = spec.split("->")
            types = ", ".join(tensor(t) for t in inputs.split(","))
            return f': ({types}) -> {tensor(result)}'

        split = f"{{dim = 0, num_partitions = {self.devices}}}"
        return f"""shoal.mesh @mesh = <["expert" = {self.devices}]>

func.func @moe_layer(%x: {tensor("GSM")} {{shoal.name = "x"}},
                     %wg: {tensor("ME")} {{shoal.name = "wg"}},
                     %wi: {tensor("EMH")} {{shoal.name = "wi"}},
                     %wo: {tensor("EHM")} {{shoal.name = "wo"}})
    -> ({tensor("GSM")} {{shoal.name = "y"}}, tensor<f32> {{shoal.name = "aux"}}) {{
  %xs = shoal.split %x {split} : {tensor("GSM")}
  %wgr = shoal.replicate %wg : {tensor("ME")}
  %logits = shoal.einsum "GSM,ME->GSE" %xs, %wgr {einsum("GSM,ME->GSE")}
  %gates = shoal.softmax %logits {{axis = 2}} : {tensor("GSE")}
  %combine, %dispatch, %aux = shoal.top_k_gating %gates {{k = {self.k}, capacity = {self.C}}}
    : {tensor("GSE")} -> {tensor("GSEC")}, {tensor("GSEC")}, tensor<f32>
  %d0 = shoal.einsum "GSEC,GSM->EGCM" %dispatch, %xs {einsum("GSEC,GSM->EGCM")}
  %d = shoal.split %d0 {split} : {tensor("EGCM")}
  %h0 = shoal.einsum "EGCM,EMH->EGCH" %d, %wi {einsum("EGCM,EMH->EGCH")}
  %h = shoal.relu %h0 : {tensor("EGCH")}
  %e = shoal.einsum "EGCH,EHM->GECM" %h, %wo {einsum("EGCH,EHM->GECM")}
  %es = shoal.split %e {split} : {tensor("GECM")}
  %y = shoal.einsum "GSEC,GECM->GSM" %combine, %es {einsum("GSEC,GECM->GSM")}
  return %y, %aux : {tensor("GSM")}, tensor<f32>
}}
"""
