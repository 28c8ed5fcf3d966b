"""Kernels written by hand in Triton for the work of the benchmark programs, compiled for sm_80 without a GPU."""
