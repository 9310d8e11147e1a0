#!/bin/bash
# usage: cpu_seconds.sh COMMAND... -- runs COMMAND; its last line of output says how many seconds of CPU time it and the
# processes that it waited for took.
TIMEFORMAT='muster: %U s of CPU time for the user, %S s for the system'
time "$@"
