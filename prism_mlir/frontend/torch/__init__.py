"""Graphs of PyTorch (``torch.fx`` on ATen operators) as upstream linalg on tensors, whose text compilations start from.

``convert`` walks a graph; ``call`` gives the arguments of an operator by name; what each operator computes is in ``scalars``
(elementwise), ``tensors`` (views and index tensors), ``reductions``, ``products`` and ``attention``. Nothing here imports torch:
nodes are read by their attributes, so that the tables can be asked without it.

Semantics are those of eager PyTorch: f16 and bf16 are computed in f32 and rounded after every operator, sums are f32.
"""
