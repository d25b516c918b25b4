"""`python -m pipelines` is the command `gradebeam`."""

import sys

from pipelines.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
