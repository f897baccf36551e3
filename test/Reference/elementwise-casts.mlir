// RUN: shoal-run %s --print | FileCheck %s

func.func @main() -> (
    tensor<2xi32> {shoal.name = "extsi"}, tensor<2xi32> {shoal.name = "extui"},
    tensor<2xi32> {shoal.name = "extsi_bits"}, tensor<2xi32> {shoal.name = "extui_bits"},
    tensor<2xi8> {shoal.name = "trunci"}, tensor<2xf32> {shoal.name = "sitofp"},
    tensor<2xf32> {shoal.name = "uitofp"}, tensor<2xf32> {shoal.name = "sitofp_bits"},
    tensor<2xf32> {shoal.name = "uitofp_bits"}, tensor<2xi32> {shoal.name = "fptosi"},
    tensor<2xi8> {shoal.name = "fptoui"}, tensor<2xbf16> {shoal.name = "truncf"},
    tensor<2xf32> {shoal.name = "extf"}, tensor<2xi32> {shoal.name = "bitcast"},
    tensor<2xf16> {shoal.name = "bitcast_f16"}, tensor<2xi64> {shoal.name = "index_cast"},
    tensor<2xi64> {shoal.name = "index_castui"}) {
  %a = arith.constant dense<[5, -3]> : tensor<2xi8>
  %bits = arith.constant dense<[false, true]> : tensor<2xi1>
  // CHECK: extsi: tensor<2xi32> = [5, -3]
  %extsi = arith.extsi %a : tensor<2xi8> to tensor<2xi32>
  // CHECK: extui: tensor<2xi32> = [5, 253]
  %extui = arith.extui %a : tensor<2xi8> to tensor<2xi32>
  // CHECK: extsi_bits: tensor<2xi32> = [0, -1]
  %extsi_bits = arith.extsi %bits : tensor<2xi1> to tensor<2xi32>
  // CHECK: extui_bits: tensor<2xi32> = [0, 1]
  %extui_bits = arith.extui %bits : tensor<2xi1> to tensor<2xi32>
  %wide = arith.constant dense<[300, -129]> : tensor<2xi32>
  // CHECK: trunci: tensor<2xi8> = [44, 127]
  %trunci = arith.trunci %wide : tensor<2xi32> to tensor<2xi8>
  // CHECK: sitofp: tensor<2xf32> = [5, -3]
  %sitofp = arith.sitofp %a : tensor<2xi8> to tensor<2xf32>
  // CHECK: uitofp: tensor<2xf32> = [5, 253]
  %uitofp = arith.uitofp %a : tensor<2xi8> to tensor<2xf32>
  // CHECK: sitofp_bits: tensor<2xf32> = [0, -1]
  %sitofp_bits = arith.sitofp %bits : tensor<2xi1> to tensor<2xf32>
  // CHECK: uitofp_bits: tensor<2xf32> = [0, 1]
  %uitofp_bits = arith.uitofp %bits : tensor<2xi1> to tensor<2xf32>
  %f = arith.constant dense<[2.75, -2.75]> : tensor<2xf32>
  // CHECK: fptosi: tensor<2xi32> = [2, -2]
  %fptosi = arith.fptosi %f : tensor<2xf32> to tensor<2xi32>
  %g = arith.constant dense<[2.75, 200.5]> : tensor<2xf32>
  // 200 - 256
  // CHECK: fptoui: tensor<2xi8> = [2, -56]
  %fptoui = arith.fptoui %g : tensor<2xf32> to tensor<2xi8>
  // 257 and 259 lie halfway between multiples of 2; ties go to even.
  %h = arith.constant dense<[257.0, 259.0]> : tensor<2xf32>
  // CHECK: truncf: tensor<2xbf16> = [256, 260]
  %truncf = arith.truncf %h : tensor<2xf32> to tensor<2xbf16>
  // CHECK: extf: tensor<2xf32> = [256, 260]
  %extf = arith.extf %truncf : tensor<2xbf16> to tensor<2xf32>
  %one = arith.constant dense<[1.0, -0.0]> : tensor<2xf32>
  // 0x3F800000, 0x80000000
  // CHECK: bitcast: tensor<2xi32> = [1065353216, -2147483648]
  %bitcast = arith.bitcast %one : tensor<2xf32> to tensor<2xi32>
  // 0x3C00 is 1, 0xC000 is -2
  %halves = arith.constant dense<[0x3C00, 0xC000]> : tensor<2xi16>
  // CHECK: bitcast_f16: tensor<2xf16> = [1, -2]
  %bitcast_f16 = arith.bitcast %halves : tensor<2xi16> to tensor<2xf16>
  %index = arith.index_cast %a : tensor<2xi8> to tensor<2xindex>
  // CHECK: index_cast: tensor<2xi64> = [5, -3]
  %index_cast = arith.index_cast %index : tensor<2xindex> to tensor<2xi64>
  %unsigned = arith.index_castui %a : tensor<2xi8> to tensor<2xindex>
  // CHECK: index_castui: tensor<2xi64> = [5, 253]
  %index_castui = arith.index_cast %unsigned : tensor<2xindex> to tensor<2xi64>
  return %extsi, %extui, %extsi_bits, %extui_bits, %trunci, %sitofp, %uitofp,
    %sitofp_bits, %uitofp_bits, %fptosi, %fptoui, %truncf, %extf, %bitcast,
    %bitcast_f16, %index_cast, %index_castui
    : tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi8>,
      tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>,
      tensor<2xi32>, tensor<2xi8>, tensor<2xbf16>, tensor<2xf32>,
      tensor<2xi32>, tensor<2xf16>, tensor<2xi64>, tensor<2xi64>
}
