"""Does a candidate compute the program? Refuted by exact arithmetic, proved by an e-graph, or unknown."""
