# The steps of tools/test: their commands, time limits and records for the summary. Sourced, not run.
# Needs MODE, FRESH (1: nothing kept counts), TREE (the digest of the checkout, or nothing), RESULTS (a folder), BEGIN (seconds since
# the epoch) and MINUTES (0: no limit).

# Tests that are running when the time is over get so many minutes more, and failures may run again for a few beyond
# these. A build gets none: its tests would not begin.
GRACE=6
AGAIN_GRACE=11
RUNNING=0
BESIDE=0
LOAD=()
SUITES=()

# The minutes that a step takes on two cores if nothing of it is kept.
declare -A USUAL=(
  ["control plane: build"]=6 ["build: tests"]=17 ["tests"]=12 ["$LONE"]=14 ["build: $ASAN"]=9 ["$ASAN"]=3
  ["build: $TSAN"]=6 ["$TSAN"]=3 ["fuzz"]=4
)

# is_kept STEP: succeeds, and says so, if the step has passed on the same files. keep STEP: it has.
is_kept() {
  [ "$FRESH" -eq 0 ] && [ -n "$TREE" ] && has_passed "$1-$TREE" || return 1
  say "$1: kept, for it has passed on the same files"
}
keep() { [ -z "$TREE" ] || note_passed "$1-$TREE"; }

# announce TITLE [NUMBER]: says that a step, or that many test targets, begin.
announce() {
  local usual="${USUAL[$1]:-}"
  say "$1${2:+, $2 targets}${usual:+ (up to $usual min on two cores, less if results are kept)}"
}

# Processes that were started in the background.
end_children() {
  local pid
  for pid in "${LOAD[@]}" "$BESIDE" "$RUNNING"; do
    [ "$pid" -eq 0 ] || { kill -TERM "$pid" && wait "$pid"; } 2>/dev/null || true
  done
}

elapsed() { echo $(($(date +%s) - BEGIN)); }
# Remaining seconds, in the form that `timeout` expects: 0 is no limit.
time_left() { if [ "$MINUTES" -eq 0 ]; then echo 0; else echo $(((MINUTES + GRACE) * 60 - $(elapsed))); fi; }

in_time() { [ "$MINUTES" -eq 0 ] || [ "$(elapsed)" -lt $((MINUTES * 60)) ]; }

# reached TITLE: succeeds if there is time to begin a step; else records it as left out.
reached() {
  ! in_time || return 0
  say "not run, for $MINUTES min are over: $1"
  echo "$1" >>"$RESULTS/left_out.txt"
  return 1
}

# was_ended STATUS: succeeds if a command ended because the time was over; a killed command has the same status.
was_ended() { { [ "$1" -eq 124 ] || [ "$1" -eq 137 ]; } && [ "$MINUTES" -ne 0 ] && [ "$(time_left)" -le 0 ]; }

# heed COMMAND...: runs a command that ends when the time is over. It runs in the background, so that a signal is
# handled at once and passed on.
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

# timed TITLE COMMAND...: runs a command with its own row in the summary; a failure does not stop the run.
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

# select_targets FILE QUERY: writes the labels of a query. A query that fails counts as a failed step.
select_targets() {
  if ! muster_bazel default query --noshow_progress "$2" 2>"$RESULTS/query.log" | sort >"$1"; then
    tail -n 5 "$RESULTS/query.log" >&2
    printf 'FAILED\t0\tquery: %s\n' "$(basename "$1")" >>"$RESULTS/steps.txt"
  fi
}

# green_commit: prints the newest commit of this branch or of origin/main whose tests have all passed on this machine.
green_commit() {
  git rev-list --max-count=1000 HEAD origin/main 2>/dev/null | grep -m 1 -xFf "$MUSTER_CACHE/green" 2>/dev/null
}

# note_green: records the commit if all of its tests have passed and nothing else lies in the checkout.
note_green() {
  [ -z "$(git status --porcelain 2>/dev/null)" ] || return 0
  git rev-parse HEAD >>"$MUSTER_CACHE/green" 2>/dev/null || true
}

# label_of FILE: prints its label, or that of all targets of its package if it says how they are built.
label_of() {
  local package="$1"
  while [ "$package" != . ]; do
    package="$(dirname "$package")"
    [ -e "$package/BUILD.bazel" ] || [ -e "$package/BUILD" ] || continue
    case "$(basename "$1")" in
      BUILD | BUILD.bazel) echo "//${package#.}:all" ;;
      *) [ "$package" = . ] && echo "//:$1" || echo "//$package:${1#"$package"/}" ;;
    esac
    return
  done
}

# select_changed FILE QUERY: writes which of the tests of a query depend on a file that differs from the green commit.
select_changed() {
  local base files file labels=()
  base="$(green_commit)" || base="$(git merge-base HEAD origin/main)" || base=HEAD
  say "compared with $(git log -1 --format='%h %s' "$base")"
  files="$(git diff --name-only "$base" && git ls-files -o --exclude-standard)"
  if grep -qE '(^WORKSPACE|^\.bazelrc|\.bzl|\.BUILD|^tools/setup|^tools/build_rules/.*)$' <<<"$files"; then
    select_targets "$1" "$2"
    return
  fi
  while read -r file; do
    [ -z "$file" ] || labels+=("$(label_of "$file")")
  done <<<"$files"
  # A file of no target, such as a document, is an error of the query that does not matter.
  muster_bazel default query --noshow_progress --keep_going "($2) intersect rdeps(//..., set(${labels[*]}))" 2>/dev/null | sort >"$1" || true
}

# law_query NAME: prints a query of [sanitize] in tools/law.toml, on one line.
law_query() {
  /usr/bin/python3 -c 'import sys, tomllib
print(" ".join(tomllib.load(open(sys.argv[1], "rb"))["sanitize"][sys.argv[2]].split()))' "$MUSTER_ROOT/tools/law.toml" "$1"
}

# sanitizable TAGS: prints a query of the tests that a sanitizer can run: those with none of the tags and without
# LibTorch, which is not instrumented.
sanitizable() {
  echo "let all = tests(//...) in \$all except attr(tags, '$1|manual', \$all) except rdeps(\$all, @libtorch//:torch)"
}

# build_ahead CONFIG TARGET...: builds in the background with the CPU time that tests leave: most of them mostly wait.
# The server's session gets the lowest weight, as do its processes where sessions have no weights.
build_ahead() {
  local config="$1" server
  shift
  in_time || return 0
  server="$(renice -n 19 -p "$BASHPID" >/dev/null && muster_bazel "$config" info server_pid 2>/dev/null)" || return 0
  { echo 19 >"/proc/$server/autogroup"; } 2>/dev/null || true
  exec_bazel "$config" build --config="$config" --noshow_progress --keep_going "$@" >/dev/null 2>&1 &
  BESIDE=$!
}

# end_build_ahead CONFIG: restarts the server with normal weight for the rest of the build and the tests.
end_build_ahead() {
  [ "$BESIDE" -ne 0 ] || return 0
  kill -TERM "$BESIDE" 2>/dev/null || true
  wait "$BESIDE" 2>/dev/null || true
  BESIDE=0
  muster_bazel "$1" shutdown 2>/dev/null
}

# flags_of CONFIG: stores in FLAGS the flags shared by its builds and tests. Different flags make Bazel analyse all again.
flags_of() {
  FLAGS=(--noshow_progress --keep_going)
  [ "$FRESH" -eq 0 ] || FLAGS+=(--nocache_test_results)
  [ "$1" = default ] || FLAGS+=(--config="$1")
  [ "$MODE" != full ] || FLAGS+=(--test_env=MUSTER_FULL=1 --test_timeout=3600)
  [ "$MODE-$1" != full-asan ] || FLAGS+=(--define=sanitizer=address_everywhere)
}

# build_tests CONFIG TITLE TARGET...: builds tests. Targets that do not build fail as tests and are reported there.
build_tests() {
  flags_of "$1"
  [ "$#" -gt 2 ] || return 0
  bazel_command "$1" build "${FLAGS[@]}" -- "${@:3}"
  announce "build: $2"
  local GRACE=0
  timed "build: $2" "${BAZEL[@]}" 2>"$RESULTS/build.log"
}

# suite_command CONFIG TITLE EVENTS TARGET...: stores in BAZEL the command that runs tests of that suite, two at a
# time for each core: many tests mostly wait for a real control plane.
suite_command() {
  flags_of "$1"
  FLAGS+=(--build_event_json_file="$3" --jobs="$((2 * $(nproc)))" --local_cpu_resources="$((2 * $(nproc)))")
  bazel_command "$1" test "${FLAGS[@]}" "${@:4}"
}

# targets_of TITLE: stores the targets of a suite in TARGETS.
targets_of() { mapfile -t TARGETS <"$RESULTS/$1.targets"; }

tell_failures() {
  grep -vE 'linux-sandbox|^INFO:|^Loading|^$' "$RESULTS/$1.log" | grep -E 'FAILED|FAIL|ERROR|error:|Failure|TIMEOUT|Expected|Actual|Which is' | head -60 >&2 || true
}

# run_suite CONFIG TITLE: runs a suite; failures do not stop the run.
run_suite() {
  local status=0
  reached "$2" || return 0
  targets_of "$2"
  [ "${#TARGETS[@]}" -gt 0 ] || return 0
  announce "$2" "${#TARGETS[@]}"
  SUITES+=("$1:$2")
  suite_command "$1" "$2" "$RESULTS/$2.json" "${TARGETS[@]}"
  heed "${BAZEL[@]}" >"$RESULTS/$2.log" 2>&1 || status=$?
  ! was_ended "$status" || echo "$2" >>"$RESULTS/left_out.txt"
  tell_failures "$2"
}

# begin_suite CONFIG TITLE: as run_suite, in parallel with the following steps until end_suite TITLE.
begin_suite() {
  reached "$2" || return 0
  targets_of "$2"
  [ "${#TARGETS[@]}" -gt 0 ] || return 0
  announce "$2" "${#TARGETS[@]}"
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

# run_failed_again: reruns failed targets once, one at a time and with nothing beside them. A failure that does not
# recur is reported as such. Such a pass is not kept: it has another environment than every other run, and that is a part
# of the key under which Bazel looks a result up.
run_failed_again() {
  local suite title status GRACE="$AGAIN_GRACE"
  mkdir -p "$RESULTS/again"
  for suite in "${SUITES[@]}"; do
    title="${suite#*:}"
    mapfile -t TARGETS < <(/usr/bin/python3 "$MUSTER_ROOT/tools/lib/test_summary.py" --failed "$RESULTS/$title.json")
    [ "${#TARGETS[@]}" -gt 0 ] || continue
    say "again, alone: ${TARGETS[*]}"
    /usr/bin/python3 "$MUSTER_ROOT/tools/lib/test_summary.py" --first-words "$RESULTS/$title.json" >"$RESULTS/$title.first"
    suite_command "${suite%%:*}" "$title" "$RESULTS/again/$title.json" --local_test_jobs=1 --nocache_test_results \
      --test_env=MUSTER_RUN=again "${TARGETS[@]}"
    status=0
    heed "${BAZEL[@]}" >"$RESULTS/again/$title.log" 2>&1 || status=$?
    ! was_ended "$status" || say "there was no time for that"
    tell_failures "again/$title"
  done
}

# Fuzz targets are built and run only if something has changed since they passed.
fuzz() {
  local seconds=10
  [ "$MODE" != full ] || seconds=300
  if is_kept fuzz; then
    printf 'kept\t0\tfuzz\n' >>"$RESULTS/steps.txt"
    return
  fi
  announce fuzz
  timed fuzz "$MUSTER_ROOT/tools/fuzz" --seconds "$seconds" $([ "$FRESH" -eq 0 ] || echo --fresh) --report "$RESULTS/fuzz.txt"
  ! grep -q $'^ok\t[0-9]*\tfuzz$' "$RESULTS/steps.txt" || keep fuzz
}

# A file that does not include what it uses compiles only with the precompiled headers.
run_plain_build() {
  bazel_command plain build --config=plain --noshow_progress --keep_going //...
  announce "build: without precompiled headers"
  timed "build: without precompiled headers" "${BAZEL[@]}" 2>"$RESULTS/plain.log"
  grep -E 'error:' "$RESULTS/plain.log" | head -40 >&2 || true
}

# Bugs that are known from other trainers are planted, one after the other, and must be found.
run_mutations() {
  announce "planted bugs"
  timed "planted bugs" "$MUSTER_ROOT/tests/mutations/run" >&2
}

# Starts two busy processes for each core, which end with this one however it ends.
start_load() {
  local i
  for ((i = 0; i < 2 * $(nproc); ++i)); do
    (while kill -0 "$$" 2>/dev/null; do :; done) &
    LOAD+=("$!")
  done
}
