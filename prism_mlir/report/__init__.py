"""The page about a compilation: one self-contained HTML file from what ``prism compile`` wrote. Data in, text out; no files."""
