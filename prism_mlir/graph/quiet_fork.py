"""``os.fork`` for children that run one piece of foreign code and leave through ``os._exit``."""

from __future__ import annotations

import os
import sys
import threading
import warnings

_FORKING = threading.Lock()


def quiet_fork() -> int:
    """``os.fork``, without complaints about what belongs to other threads, which the child drops and never uses."""
    with _FORKING, warnings.catch_warnings():
        # The child leaves through os._exit: threads of the parent are not missed.
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.filterwarnings("ignore", "os.fork", RuntimeWarning)  # of JAX, which has threads of its own
        hook, sys.unraisablehook = sys.unraisablehook, lambda _: None
        try:
            return os.fork()
        finally:
            sys.unraisablehook = hook
