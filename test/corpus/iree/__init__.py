"""Linalg programs that IREE compiles to one CUDA kernel each; ``compile.py`` turns them into PTX without a GPU."""
