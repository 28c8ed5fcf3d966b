"""What the doors for PyTorch and JAX share: kernels by the digest of their source, where they run, and the one warning."""
