// Functions as compilers write them, by hand; hand.kina says what they compute.
#row = affine_map<(i, j) -> (i, j)>
#kept = affine_map<(i, j) -> (i)>

func.func @neg(%x: tensor<?x?xf32>) -> tensor<?x?xf32> attributes {llvm.emit_c_interface} {
  %y = arith.negf %x : tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}
func.func @kept(%x: tensor<?x?xf32> {bufferization.writable = false}) -> tensor<?x?xf32> attributes {llvm.emit_c_interface} {
  %y = arith.negf %x : tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}
func.func @ad(%x: tensor<2x2xf32> {bufferization.writable = false}) -> (tensor<2x2xf32>, tensor<2x2xf32>) attributes {llvm.emit_c_interface} {
  %y = arith.negf %x : tensor<2x2xf32>
  %one = arith.constant dense<1.0> : tensor<2x2xf32>
  %g = arith.negf %one : tensor<2x2xf32>
  return %y, %g : tensor<2x2xf32>, tensor<2x2xf32>
}
func.func @sums(%x: tensor<4x?xf32> {bufferization.writable = false}) -> tensor<4xf32> attributes {llvm.emit_c_interface} {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<4xf32>) -> tensor<4xf32>
  %sum = linalg.generic {indexing_maps = [#row, #kept], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x?xf32>) outs(%start : tensor<4xf32>) {
  ^bb0(%a: f32, %s: f32):
    %t = arith.addf %s, %a : f32
    linalg.yield %t : f32
  } -> tensor<4xf32>
  return %sum : tensor<4xf32>
}
func.func @product(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>) -> tensor<?x?xf32> attributes {llvm.emit_c_interface} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %a, %c0 : tensor<?x?xf32>
  %n = tensor.dim %b, %c1 : tensor<?x?xf32>
  %empty = tensor.empty(%m, %n) : tensor<?x?xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x?xf32>) -> tensor<?x?xf32>
  %c = linalg.matmul ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>) outs(%start : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %c : tensor<?x?xf32>
}
func.func @functions(%x: tensor<64xf32> {bufferization.writable = false}, %y: tensor<64xf64> {bufferization.writable = false})
    -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf64>, tensor<64xf64>) attributes {llvm.emit_c_interface} {
  %a = math.exp %x : tensor<64xf32>
  %b = math.tanh %x : tensor<64xf32>
  %c = math.erf %x : tensor<64xf32>
  %d = math.powf %a, %x : tensor<64xf32>
  %e = math.sin %y : tensor<64xf64>
  %f = math.tanh %y : tensor<64xf64>
  return %a, %b, %c, %d, %e, %f : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf64>, tensor<64xf64>
}
func.func @mixed(%a: f32, %t: tensor<?xf32> {bufferization.writable = false}, %n: i64, %b: i1, %k: tensor<f64> {bufferization.writable = false})
    -> (i1, tensor<?xf32>, f32, i64, tensor<f64>, i32) attributes {llvm.emit_c_interface} {
  %true = arith.constant true
  %not = arith.xori %b, %true : i1
  %more = arith.addf %a, %a : f32
  %u = arith.mulf %t, %t : tensor<?xf32>
  %next = arith.addi %n, %n : i64
  %l = arith.mulf %k, %k : tensor<f64>
  %small = arith.trunci %n : i64 to i32
  return %not, %u, %more, %next, %l, %small : i1, tensor<?xf32>, f32, i64, tensor<f64>, i32
}
func.func @number(%a: f64, %b: f64) -> f64 attributes {llvm.emit_c_interface} {
  %c = arith.divf %a, %b : f64
  return %c : f64
}
func.func @positive(%x: tensor<8xf32>) -> tensor<8xi1> attributes {llvm.emit_c_interface} {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %p = arith.cmpf ogt, %x, %zero : tensor<8xf32>
  return %p : tensor<8xi1>
}
// What ends up in an argument, in a constant, or twice in one buffer when nothing sees to its owner.
func.func @same(%x: tensor<2x3xf32>) -> tensor<2x3xf32> attributes {llvm.emit_c_interface} {
  return %x : tensor<2x3xf32>
}
func.func @sevens(%x: tensor<2x3xf32>) -> tensor<2x3xf32> attributes {llvm.emit_c_interface} {
  %c = arith.constant dense<7.0> : tensor<2x3xf32>
  return %c : tensor<2x3xf32>
}
func.func @twice(%x: tensor<2x3xf32> {bufferization.writable = false}) -> (tensor<2x3xf32>, tensor<2x3xf32>) attributes {llvm.emit_c_interface} {
  %y = arith.negf %x : tensor<2x3xf32>
  return %y, %y : tensor<2x3xf32>, tensor<2x3xf32>
}
