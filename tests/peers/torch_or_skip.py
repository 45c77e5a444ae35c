"""PyTorch for the scripts of this folder, or a skip by name and with a count where it is not installed."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
import kina  # noqa: E402, F401  (found through the line above; the scripts import it from here)


def torch_or_skip(name, count):
    """The module torch, or the end of this script with `count` tests skipped."""
    try:
        import torch
    except ImportError:
        print(f"SKIP {name}: PyTorch is not installed ('make peers' installs it)")
        print(f"0 passed, 0 failed, {count} skipped")
        sys.exit(0)
    torch.set_num_threads(1)
    return torch
