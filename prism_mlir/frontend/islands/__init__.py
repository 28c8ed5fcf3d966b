"""Islands: the parts of a bigger function that can become kernels, each a function of its own; the rest stays around them."""
