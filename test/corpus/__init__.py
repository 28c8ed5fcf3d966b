"""Kernels that other compilers write PTX for: the PTX machine must run what it did not see coming.

``triton/`` and ``iree/`` hold sources and a ``compile.py`` each, which need the wheel of that compiler and no GPU. The tests that
compile, run and check them are in ``test/unit/ptx/corpus``; they find this package through ``sys.path``.
"""
