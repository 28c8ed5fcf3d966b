"""The whole line as functions: a program is searched, proved, scheduled, emitted, executed and checked.

Passes and command-line tools call these functions; each area below (search, verify, tune, codegen, runtime) knows nothing of
the others, and this package is where they meet.
"""
