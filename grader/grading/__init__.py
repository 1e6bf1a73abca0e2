"""Grading runs: student code in a process that is not trusted, verdicts in one that is.

wire.py      frames and values as bytes, checked before use        channel.py   frames over a socket, with deadlines
messages.py  probes and observations as values                     remote.py    the trusted end: RemoteSubject
host.py      the untrusted end: runs cells, serves probes          session.py   a submission: cells and test cells
warm.py      processes forked from one that has imported torch
"""

from __future__ import annotations
