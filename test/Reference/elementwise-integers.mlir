// RUN: shoal-run %s --print | FileCheck %s

// Integers wrap at their width; signed and unsigned readings differ.
func.func @main() -> (
    tensor<2xi8> {shoal.name = "addi"}, tensor<2xi8> {shoal.name = "subi"},
    tensor<2xi8> {shoal.name = "muli"}, tensor<4xi8> {shoal.name = "divsi"},
    tensor<4xi8> {shoal.name = "remsi"}, tensor<4xi8> {shoal.name = "floordivsi"},
    tensor<4xi8> {shoal.name = "ceildivsi"}, tensor<2xi8> {shoal.name = "divui"},
    tensor<2xi8> {shoal.name = "remui"}, tensor<2xi8> {shoal.name = "ceildivui"},
    tensor<2xi8> {shoal.name = "andi"}, tensor<2xi8> {shoal.name = "ori"},
    tensor<2xi8> {shoal.name = "xori"}, tensor<2xi8> {shoal.name = "shli"},
    tensor<2xi8> {shoal.name = "shrsi"}, tensor<2xi8> {shoal.name = "shrui"},
    tensor<2xi8> {shoal.name = "maxsi"}, tensor<2xi8> {shoal.name = "maxui"},
    tensor<2xi8> {shoal.name = "minsi"}, tensor<2xi8> {shoal.name = "minui"},
    tensor<2xi1> {shoal.name = "slt"}, tensor<2xi1> {shoal.name = "ult"},
    tensor<2xi1> {shoal.name = "add_bits"}, tensor<2xi1> {shoal.name = "slt_bits"},
    tensor<2xi8> {shoal.name = "select"}, tensor<2xi8> {shoal.name = "select_by_scalar"}) {
  %a = arith.constant dense<[100, -100]> : tensor<2xi8>
  %b = arith.constant dense<[100, 3]> : tensor<2xi8>
  // CHECK: addi: tensor<2xi8> = [-56, -97]
  %addi = arith.addi %a, %b : tensor<2xi8>
  // CHECK: subi: tensor<2xi8> = [0, -103]
  %subi = arith.subi %a, %b : tensor<2xi8>
  // 10000 = 39 * 256 + 16; -300 = -2 * 256 + 212, 212 - 256 = -44
  // CHECK: muli: tensor<2xi8> = [16, -44]
  %muli = arith.muli %a, %b : tensor<2xi8>

  %n = arith.constant dense<[7, -7, 7, -128]> : tensor<4xi8>
  %d = arith.constant dense<[2, 2, -2, -1]> : tensor<4xi8>
  // The quotient 128 of the last does not fit; it wraps and does not trap.
  // CHECK: divsi: tensor<4xi8> = [3, -3, -3, -128]
  %divsi = arith.divsi %n, %d : tensor<4xi8>
  // CHECK: remsi: tensor<4xi8> = [1, -1, 1, 0]
  %remsi = arith.remsi %n, %d : tensor<4xi8>
  // CHECK: floordivsi: tensor<4xi8> = [3, -4, -4, -128]
  %floor = arith.floordivsi %n, %d : tensor<4xi8>
  // CHECK: ceildivsi: tensor<4xi8> = [4, -3, -3, -128]
  %ceil = arith.ceildivsi %n, %d : tensor<4xi8>

  // -100 is 156: 156 = 52 * 3
  // CHECK: divui: tensor<2xi8> = [1, 52]
  %divui = arith.divui %a, %b : tensor<2xi8>
  // CHECK: remui: tensor<2xi8> = [0, 0]
  %remui = arith.remui %a, %b : tensor<2xi8>
  // CHECK: ceildivui: tensor<2xi8> = [1, 52]
  %ceildivui = arith.ceildivui %a, %b : tensor<2xi8>

  %p = arith.constant dense<[12, -128]> : tensor<2xi8>
  %q = arith.constant dense<[10, 2]> : tensor<2xi8>
  // CHECK: andi: tensor<2xi8> = [8, 0]
  %andi = arith.andi %p, %q : tensor<2xi8>
  // CHECK: ori: tensor<2xi8> = [14, -126]
  %ori = arith.ori %p, %q : tensor<2xi8>
  // CHECK: xori: tensor<2xi8> = [6, -126]
  %xori = arith.xori %p, %q : tensor<2xi8>
  %two = arith.constant dense<2> : tensor<2xi8>
  // CHECK: shli: tensor<2xi8> = [48, 0]
  %shli = arith.shli %p, %two : tensor<2xi8>
  // CHECK: shrsi: tensor<2xi8> = [3, -32]
  %shrsi = arith.shrsi %p, %two : tensor<2xi8>
  // CHECK: shrui: tensor<2xi8> = [3, 32]
  %shrui = arith.shrui %p, %two : tensor<2xi8>

  // CHECK: maxsi: tensor<2xi8> = [12, 2]
  %maxsi = arith.maxsi %p, %q : tensor<2xi8>
  // CHECK: maxui: tensor<2xi8> = [12, -128]
  %maxui = arith.maxui %p, %q : tensor<2xi8>
  // CHECK: minsi: tensor<2xi8> = [10, -128]
  %minsi = arith.minsi %p, %q : tensor<2xi8>
  // CHECK: minui: tensor<2xi8> = [10, 2]
  %minui = arith.minui %p, %q : tensor<2xi8>
  // CHECK: slt: tensor<2xi1> = [0, 1]
  %slt = arith.cmpi slt, %p, %q : tensor<2xi8>
  // CHECK: ult: tensor<2xi1> = [0, 0]
  %ult = arith.cmpi ult, %p, %q : tensor<2xi8>

  // An i1 adds modulo 2, and as a signed number its 1 is -1.
  %bits = arith.constant dense<[true, false]> : tensor<2xi1>
  %ones = arith.constant dense<true> : tensor<2xi1>
  // CHECK: add_bits: tensor<2xi1> = [0, 1]
  %add_bits = arith.addi %bits, %ones : tensor<2xi1>
  // CHECK: slt_bits: tensor<2xi1> = [0, 1]
  %slt_bits = arith.cmpi slt, %ones, %bits : tensor<2xi1>

  // CHECK: select: tensor<2xi8> = [12, 2]
  %select = arith.select %bits, %p, %q : tensor<2xi1>, tensor<2xi8>
  %yes = arith.constant true
  // CHECK: select_by_scalar: tensor<2xi8> = [12, -128]
  %whole = arith.select %yes, %p, %q : tensor<2xi8>
  return %addi, %subi, %muli, %divsi, %remsi, %floor, %ceil, %divui, %remui,
    %ceildivui, %andi, %ori, %xori, %shli, %shrsi, %shrui, %maxsi, %maxui,
    %minsi, %minui, %slt, %ult, %add_bits, %slt_bits, %select, %whole
    : tensor<2xi8>, tensor<2xi8>, tensor<2xi8>, tensor<4xi8>, tensor<4xi8>,
      tensor<4xi8>, tensor<4xi8>, tensor<2xi8>, tensor<2xi8>, tensor<2xi8>,
      tensor<2xi8>, tensor<2xi8>, tensor<2xi8>, tensor<2xi8>, tensor<2xi8>,
      tensor<2xi8>, tensor<2xi8>, tensor<2xi8>, tensor<2xi8>, tensor<2xi8>,
      tensor<2xi1>, tensor<2xi1>, tensor<2xi1>, tensor<2xi1>, tensor<2xi8>,
      tensor<2xi8>
}
