"""Make the sample class in the folder given, or refresh it: python examples/make_class.py build/class"""

from __future__ import annotations

import sys
from pathlib import Path

from grader.classroom.commands import create
from grader.errors import GraderError

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("Give the folder of the class: python examples/make_class.py build/class")
    try:
        create(Path(sys.argv[1]), example=True)
    except GraderError as error:
        sys.exit(f"make_class: {error}")
