func.func @f(%x: tensor<2x2xf32> {bufferization.writable = false}) -> tensor<2x2xf32> attributes {llvm.emit_c_interface} {
  %0 = arith.negf %x : tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}
func.func @main() -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %cst = arith.constant 1.0 : f32
  %0 = tensor.empty() : tensor<2x2xf32>
  %x = linalg.fill ins(%cst : f32) outs(%0 : tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = arith.negf %x : tensor<2x2xf32>
  %3 = tensor.empty() : tensor<2x2xf32>
  %2 = linalg.fill ins(%cst : f32) outs(%3 : tensor<2x2xf32>) -> tensor<2x2xf32>
  %d_x = arith.negf %2 : tensor<2x2xf32>
  return %1, %d_x : tensor<2x2xf32>, tensor<2x2xf32>
}
