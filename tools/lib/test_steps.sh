# The steps of tools/test: what each runs, how long it may, and what is written down for the summary. Sourced, not run.
# Needs MODE, RESULTS (a folder), BEGIN (seconds of the epoch) and MINUTES (0: as long as it takes).

# A step that is under way when the time is over has this much longer.
GRACE_MINUTES=10
RUNNING=0
BESIDE=0
LOAD=()
SUITES=()

# Everything that was started in the background.
end_children() {
  local pid
  for pid in "${LOAD[@]}" "$BESIDE" "$RUNNING"; do
    [ "$pid" -eq 0 ] || { kill -TERM "$pid" && wait "$pid"; } 2>/dev/null || true
  done
}

elapsed() { echo $(($(date +%s) - BEGIN)); }
# Seconds, as `timeout` wants them: 0 is no limit.
time_left() { if [ "$MINUTES" -eq 0 ]; then echo 0; else echo $(((MINUTES + GRACE_MINUTES) * 60 - $(elapsed))); fi; }

in_time() { [ "$MINUTES" -eq 0 ] || [ "$(elapsed)" -lt $((MINUTES * 60)) ]; }

# reached TITLE: whether there is time to begin a step; else it is written down as left out.
reached() {
  ! in_time || return 0
  say "not run, for $MINUTES min are over: $1"
  echo "$1" >>"$RESULTS/left_out.txt"
  return 1
}

# was_ended STATUS: whether a command ended because the time was over; one that was killed has the same status.
was_ended() { { [ "$1" -eq 124 ] || [ "$1" -eq 137 ]; } && [ "$MINUTES" -ne 0 ] && [ "$(time_left)" -le 0 ]; }

# heed COMMAND...: a command that ends when the time is over. In the background, so that a signal is heard at once and
# passed on.
heed() {
  local status=0 left
  left="$(time_left)"
  [ "$MINUTES" -eq 0 ] || [ "$left" -gt 0 ] || return 124
  timeout --kill-after=120 "$left" "$@" &
  RUNNING=$!
  wait "$RUNNING" || status=$?
  RUNNING=0
  return "$status"
}

# timed TITLE COMMAND...: a row of its own in the summary; a failure does not stop the run.
timed() {
  local title="$1" begin="$SECONDS" word=ok status=0
  shift
  reached "$title" || return 0
  heed "$@" >/dev/null || status=$?
  [ "$status" -eq 0 ] || word=FAILED
  if was_ended "$status"; then
    word=ENDED
    echo "$title" >>"$RESULTS/left_out.txt"
  fi
  printf '%s\t%s\t%s\n' "$word" "$((SECONDS - begin))" "$title" >>"$RESULTS/steps.txt"
}

# select_targets FILE QUERY: the labels of a query. One that fails is a step that failed.
select_targets() {
  if ! muster_bazel default query --noshow_progress "$2" 2>"$RESULTS/query.log" | sort >"$1"; then
    tail -n 5 "$RESULTS/query.log" >&2
    printf 'FAILED\t0\tquery: %s\n' "$(basename "$1")" >>"$RESULTS/steps.txt"
  fi
}

# law_query NAME: one of the queries of tools/law.toml's [sanitize], on one line.
law_query() {
  /usr/bin/python3 -c 'import sys, tomllib
print(" ".join(tomllib.load(open(sys.argv[1], "rb"))["sanitize"][sys.argv[2]].split()))' "$MUSTER_ROOT/tools/law.toml" "$1"
}

# sanitizable TAGS: a query of the tests that no sanitizer is told to leave: by none of the tags, and without LibTorch,
# which is not instrumented.
sanitizable() {
  echo "let all = tests(//...) in \$all except attr(tags, '$1|manual', \$all) except rdeps(\$all, @libtorch//:torch)"
}

# build_ahead CONFIG TARGET...: builds in the background with what tests leave of the machine: most of them wait most of
# their time. The server's session gets the least weight, and so do its processes where sessions are not weighed.
build_ahead() {
  local config="$1" server
  shift
  in_time || return 0
  server="$(renice -n 19 -p "$BASHPID" >/dev/null && muster_bazel "$config" info server_pid 2>/dev/null)" || return 0
  { echo 19 >"/proc/$server/autogroup"; } 2>/dev/null || true
  exec_bazel "$config" build --config="$config" --noshow_progress --keep_going "$@" >/dev/null 2>&1 &
  BESIDE=$!
}

# end_build_ahead CONFIG: what is left of it, and the tests, get a server with the weight of everybody else.
end_build_ahead() {
  [ "$BESIDE" -ne 0 ] || return 0
  kill -TERM "$BESIDE" 2>/dev/null || true
  wait "$BESIDE" 2>/dev/null || true
  BESIDE=0
  muster_bazel "$1" shutdown 2>/dev/null
}

# flags_of CONFIG: what its builds and its tests have in common, in FLAGS. What differs has Bazel analyse all again.
flags_of() {
  FLAGS=(--noshow_progress --keep_going --nocache_test_results)
  [ "$1" = default ] || FLAGS+=(--config="$1")
  [ "$MODE" != full ] || FLAGS+=(--test_env=MUSTER_FULL=1 --test_timeout=3600)
}

# build_tests CONFIG TITLE TARGET...: what does not build fails again as a test, and is told there.
build_tests() {
  flags_of "$1"
  bazel_command "$1" build "${FLAGS[@]}" -- "${@:3}"
  say "build: $2"
  timed "build: $2" "${BAZEL[@]}" 2>"$RESULTS/build.log"
}

# suite_command CONFIG TITLE EVENTS TARGET...: a run of tests of that suite, in BAZEL. Many tests wait for a real control
# plane most of their time: two at a time for each core.
suite_command() {
  flags_of "$1"
  FLAGS+=(--build_event_json_file="$3" --jobs="$((2 * $(nproc)))" --local_cpu_resources="$((2 * $(nproc)))")
  bazel_command "$1" test "${FLAGS[@]}" "${@:4}"
}

# targets_of TITLE: of a suite, in TARGETS.
targets_of() { mapfile -t TARGETS <"$RESULTS/$1.targets"; }

tell_failures() {
  grep -vE 'linux-sandbox|^INFO:|^Loading|^$' "$RESULTS/$1.log" | grep -E 'FAILED|FAIL|ERROR|error:|Failure|TIMEOUT|Expected|Actual|Which is' | head -60 >&2 || true
}

# run_suite CONFIG TITLE: failures do not stop the run.
run_suite() {
  local status=0
  reached "$2" || return 0
  targets_of "$2"
  [ "${#TARGETS[@]}" -gt 0 ] || return 0
  say "tests: $2"
  SUITES+=("$1:$2")
  suite_command "$1" "$2" "$RESULTS/$2.json" "${TARGETS[@]}"
  heed "${BAZEL[@]}" >"$RESULTS/$2.log" 2>&1 || status=$?
  ! was_ended "$status" || echo "$2" >>"$RESULTS/left_out.txt"
  tell_failures "$2"
}

# begin_suite CONFIG TITLE: the same beside what follows, until end_suite TITLE.
begin_suite() {
  reached "$2" || return 0
  targets_of "$2"
  [ "${#TARGETS[@]}" -gt 0 ] || return 0
  say "tests: $2"
  SUITES+=("$1:$2")
  suite_command "$1" "$2" "$RESULTS/$2.json" "${TARGETS[@]}"
  timeout --kill-after=120 "$(time_left)" "${BAZEL[@]}" >"$RESULTS/$2.log" 2>&1 &
  BESIDE=$!
}

end_suite() {
  local status=0
  [ "$BESIDE" -ne 0 ] || return 0
  wait "$BESIDE" || status=$?
  BESIDE=0
  ! was_ended "$status" || echo "$1" >>"$RESULTS/left_out.txt"
  tell_failures "$1"
}

# run_failed_again: once, one target at a time and beside nothing. A failure that does not come again is told as such.
run_failed_again() {
  local suite title status
  mkdir -p "$RESULTS/again"
  for suite in "${SUITES[@]}"; do
    title="${suite#*:}"
    mapfile -t TARGETS < <(/usr/bin/python3 "$MUSTER_ROOT/tools/lib/test_summary.py" --failed "$RESULTS/$title.json")
    [ "${#TARGETS[@]}" -gt 0 ] || continue
    say "again, alone: ${TARGETS[*]}"
    suite_command "${suite%%:*}" "$title" "$RESULTS/again/$title.json" --local_test_jobs=1 "${TARGETS[@]}"
    status=0
    heed "${BAZEL[@]}" >"$RESULTS/again/$title.log" 2>&1 || status=$?
    ! was_ended "$status" || say "there was no time for that"
    tell_failures "again/$title"
  done
}

# A file that does not include what it uses is compiled only with the precompiled headers.
run_plain_build() {
  bazel_command plain build --config=plain --noshow_progress --keep_going //...
  say "build: without precompiled headers"
  timed "build: without precompiled headers" "${BAZEL[@]}" 2>"$RESULTS/plain.log"
  grep -E 'error:' "$RESULTS/plain.log" | head -40 >&2 || true
}

# Two busy processes for each core. They end with this one, however it ends.
start_load() {
  local i
  for ((i = 0; i < 2 * $(nproc); ++i)); do
    (while kill -0 "$$" 2>/dev/null; do :; done) &
    LOAD+=("$!")
  done
}
