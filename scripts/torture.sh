#!/bin/bash
# torture.sh [--quick] [--only TEXT] [--self-test] ...: tries to break build/heatskin with kills, full disks, odd shapes,
# odd options and hostile products (tests/torture; --help lists all options). The last line is "N passed, M failed".
exec /usr/bin/env python3 -B "$(dirname "$0")/../tests/torture/torture.py" "$@"
