"""python3 -m heatskin: the command line."""

import os
import sys


def main() -> None:
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "heatskin")
    if not os.access(program, os.X_OK):
        sys.exit("heatskin: this installation has no command line (bin/heatskin is missing)")
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(program, ["heatskin", *sys.argv[1:]])


if __name__ == "__main__":
    main()
