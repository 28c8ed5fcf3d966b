"""A small checker of proof certificates. It shares no code with what it checks.

It has its own terms, its own typing with symbolic sizes, its own copy of the axioms (``axioms.jsonl``), its own encoding of
programs and graphs, and its own evaluator, which runs a graph block by block and iteration by iteration. It searches for
nothing: a chain of rule applications is followed step by step, and arithmetic is exact.
"""
