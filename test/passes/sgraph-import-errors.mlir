// RUN: prism-opt %s --sgraph-import --split-input-file --verify-diagnostics

// expected-error @+1 {{dynamic size in argument 0, tensor<?x8xf32>, is not supported, give every dim a number}}
func.func @dynamic(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = linalg.exp ins(%x : tensor<?x8xf32>) outs(%x : tensor<?x8xf32>) -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// -----

// expected-error @+1 {{no function with a body to import, give a func.func of linalg operations}}
module {
  func.func private @declared(tensor<4x8xf32>)
}
