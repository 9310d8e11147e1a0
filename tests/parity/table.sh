#!/usr/bin/env bash
# Prints the parity matrix, from the logs of the last `tools/test //tests/parity/...`, as a table of Markdown.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../../tools/lib/common.sh"
exec /usr/bin/python3 "$MUSTER_ROOT/tests/parity/table.py" "$(muster_bin)/../testlogs"
