"""What the benchmark scripts share: workloads with published numbers, processes of their own, tables and files of rows."""
