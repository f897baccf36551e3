// What is asked for of a simulation beside its page, and what cannot be.

// RUN: shoalc %s --simulate=%S/Inputs/islands.toml --simulate-trace=%t.json --emit=report -o %t.html >/dev/null
// RUN: FileCheck %s --check-prefix=TRACE --input-file=%t.json
// RUN: FileCheck %s --check-prefix=PAGE --input-file=%t.html
// RUN: python3 -c "import json; e = json.load(open('%t.json'))['traceEvents']; assert {x['pid'] for x in e} == {1}, e; step = next(x for x in e if x['name'] == 'step'); assert max(x['ts'] + x['dur'] for x in e if x['ph'] == 'X') <= step['dur'] * (1 + 1e-9), e"
// RUN: shoalc %s --simulate=%S/Inputs/islands.toml | FileCheck %s --check-prefix=EVEN
// RUN: shoalc %s --simulate=%S/Inputs/islands.toml --imbalance=1.5 | FileCheck %s --check-prefix=UNEVEN
// RUN: not shoalc %s --simulate=%S/Inputs/islands.toml --imbalance=0.5 2>&1 | FileCheck %s --check-prefix=LITTLE
// RUN: not shoalc %s --simulate=%S/Inputs/islands.toml --imbalance=nan 2>&1 | FileCheck %s --check-prefix=NAN
// RUN: not shoalc %s --emit=summary --imbalance=2 2>&1 | FileCheck %s --check-prefix=ALONE
// RUN: not shoalc %s --emit=summary --simulate-trace=%t.none.json 2>&1 | FileCheck %s --check-prefix=NO-MACHINE
// RUN: not shoalc %s --simulate=%S/Inputs/islands.toml --simulate-trace=%S/Inputs/islands.toml 2>&1 | FileCheck %s --check-prefix=READ

// TRACE: "name":"a device of islands, simulated"
// TRACE: "axes":"{\"ep\"}","bound":"link of switch","bytes":{{[0-9]+}},"id":0,"loc":"{{.*}}options.mlir:[[#EXCHANGE:]]:{{.*}}"name":"ragged_all_to_all"
// TRACE: "name":"ragged_einsum"

// PAGE: "simulated":{"balanced_seconds":
// PAGE-SAME: "machine":"islands"
// PAGE-SAME: "ops":[{"bound":"

// Of 64 rows that a device has room for 16 come on average: 131,072 operations
// of a product at 1e12 a second, and 3,072 bytes at 100 GB/s.
// EVEN-NOT: imbalance
// EVEN: 131.1 ns {{.*}} ragged_einsum
// EVEN: 30.7 ns {{.*}} ragged_all_to_all over {"ep"}
// UNEVEN: the most loaded device has 1.50 times the mean of ragged work; balanced 194.6 ns
// UNEVEN: 196.6 ns {{.*}} ragged_einsum
// UNEVEN: 46.1 ns {{.*}} ragged_all_to_all over {"ep"}

// LITTLE: error: imbalance: expected a number of at least 1 but got 0.50
// NAN: error: imbalance: expected a number of at least 1 but got nan
// ALONE: error: imbalance: expected the machine, too: --simulate=MACHINE.toml
// NO-MACHINE: error: simulate-trace: expected the machine, too: --simulate=MACHINE.toml
// READ: error: cannot write {{.*}}islands.toml: it is {{.*}}islands.toml, which is read

shoal.mesh @mesh = <["ep" = 4]>
func.func @f(%x: tensor<16x64xf32>, %room: tensor<64x64xf32>, %w: tensor<2x64x64xf32>, %from: tensor<4xi32>,
             %count: tensor<4xi32>, %to: tensor<4xi32>, %come: tensor<4xi32>, %begins: tensor<2xi32>,
             %ends: tensor<2xi32>) -> tensor<64x64xf32> attributes {shoal.spmd} {
  %rows = spmd.ragged_all_to_all @mesh {"ep"} %x into %room send(%from, %count) to(%to) receive(%come)
     : tensor<16x64xf32> into tensor<64x64xf32>, tensor<4xi32>
  %y = shoal.ragged_einsum "TM,EMH,E->TH" rows "T" %rows, %w groups %begins, %ends
     : (tensor<64x64xf32>, tensor<2x64x64xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}
