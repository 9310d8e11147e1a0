#!/usr/bin/env bash
# usage: matrix_test.sh FAMILY ROWS -- compares layouts of a family's toy with one rank.
set -euo pipefail
export OMP_NUM_THREADS=1 MUSTER_LOG_LEVEL="${MUSTER_LOG_LEVEL:-ERROR}"
exec tests/parity/matrix/matrix "$@"
