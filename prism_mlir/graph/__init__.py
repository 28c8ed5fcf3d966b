"""The IR-free model: symbolic sizes, tensor programs, multi-level graphs, and what every operator means."""
