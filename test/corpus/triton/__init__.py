"""Triton kernels written after public algorithms, one family a file; ``compile.py`` turns them into PTX without a GPU.

``catalogue.py`` lists every kernel in the forms (types, block sizes, warps, stages) that the tests compile and run.
"""
