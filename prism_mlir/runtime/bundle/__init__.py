"""What measures kernels on a GPU: a program of its own, which needs Python 3.9, NumPy and cuda-python only.

``prism bundle`` copies this folder as it is, beside the kernels; ``prism bench`` and ``prism compile --profile`` run it from
here. So nothing in it imports the rest of the project, and its files import each other by relative names alone.
"""
