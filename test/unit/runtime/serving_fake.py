"""A measuring process with a fake device, for tests of its parent: ``serving_fake.py ENTRY=FAULT ...``.

Beside the faults of ``Behaviour``, ``block`` never comes back from a launch, and ``crash`` ends the process in one.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from fake_gpu import Behaviour, FakeGpu

from prism_mlir.runtime.bundle.worker import serve


class Breaking(FakeGpu):
    def cuLaunchKernel(self, function: Any, *arguments: Any) -> tuple[Any]:
        fault = self.behaviours.get(function[1], Behaviour()).fault
        if fault == "block":
            time.sleep(1000)
        if fault == "crash":
            print("noise on standard output, which is not the protocol's")
            raise SystemExit("the driver has a bug")
        return super().cuLaunchKernel(function, *arguments)


if __name__ == "__main__":
    if sys.argv[1:] == ["no-device"]:
        from fake_driver import CUresult

        fake = FakeGpu()
        fake.fail["cuDeviceGet"] = CUresult.CUDA_ERROR_NO_DEVICE
    else:
        fake = Breaking({e: Behaviour(fault=f) for e, _, f in (word.partition("=") for word in sys.argv[1:])})
    sys.exit(serve(fake, fake.seconds))
