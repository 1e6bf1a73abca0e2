"""What every test stands on: quiet threads and a place of its own for whatever the package keeps in files."""

from __future__ import annotations

import os

# Set before torch is imported: with a test process on every core, more threads each only take turns.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Some libraries draw; none of the tests has a screen.
os.environ.setdefault("MPLBACKEND", "agg")
