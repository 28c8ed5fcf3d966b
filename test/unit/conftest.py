"""What all unit tests have in common."""

from __future__ import annotations

import os

# No test reads or leaves tuning records in the user's cache; those about records open a folder of their own. Set here, and not by
# a fixture, so that it holds for fixtures of modules and for processes that tests start.
os.environ["PRISM_CACHE_DIR"] = ""

# Tables are as wide as they need to be, however wide the window is in which the tests run.
os.environ.pop("COLUMNS", None)
