"""StableHLO modules as upstream linalg on tensors, so that everything after reading is the same for both.

``text`` recognises StableHLO and brings custom syntax into generic form with jaxlib's bindings; upstream MLIR parses that with
unregistered operations. ``convert`` then replaces one operation after the other, in place and with its location: elementwise
ones through the table in ``scalars``, others in ``tensors``, ``products`` and ``reductions``, and the arithmetic of dynamic
shapes in ``shapes``.

Why not the pass ``stablehlo-legalize-to-linalg``, which jaxlib has: it leaves ``dot_general`` of several batch or contracting
dims, accumulates products of bf16 in bf16, writes shapes in dialects that upstream's folding does not see through, and is
nowhere but in jaxlib. The tests compare with it.
"""
