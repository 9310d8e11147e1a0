# Shared by the tools: messages, steps that report what failed, and the caches' locations. Sourced, not run.

# Tests run these tools without a home.
MUSTER_CACHE="${MUSTER_CACHE:-${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}/.cache/muster}"
MUSTER_ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"

say() { printf '%s\n' "muster: $*" >&2; }
die() { say "error: $*"; exit 1; }

# step TITLE COMMAND...: runs COMMAND with its output in a log; on failure quotes the end of the log. Output on
# descriptor 3 is shown at once.
step() {
  local title="$1" log status=0
  shift
  mkdir -p "$MUSTER_CACHE/logs"
  log="$MUSTER_CACHE/logs/$(printf '%s' "$title" | tr -c 'a-zA-Z0-9' '-').log"
  say "$title ..."
  "$@" 3>&2 >"$log" 2>&1 || status=$?
  if [ "$status" -ne 0 ]; then
    say "this step failed (exit $status): $title"
    say "command: $*"
    tail -n 30 "$log" | sed 's/^/    /' >&2
    say "full log: $log"
    exit 1
  fi
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else
    command -v sudo >/dev/null || die "'$*' needs root: run as root, or install sudo"
    sudo "$@"
  fi
}

# tree_digest: prints a digest of all files of the checkout that git knows or would add, and of what the machine has. It
# fails where there is no git.
tree_digest() (
  cd "$MUSTER_ROOT" && git rev-parse --is-inside-work-tree >/dev/null 2>&1 || return 1
  {
    git ls-files -coz --exclude-standard | sort -z | xargs -0 sha256sum 2>/dev/null || true
    cat .bazelrc.machine 2>/dev/null || true
  } | sha256sum | cut -c1-32
)

# has_passed KEY, note_passed KEY: whether something has passed whose name and inputs are those of KEY. Bazel keeps this
# for tests; here are the steps that it does not know. tools/setup forgets what was not asked for in a month.
has_passed() { touch -c "$MUSTER_CACHE/passed/$1" 2>/dev/null && [ -e "$MUSTER_CACHE/passed/$1" ]; }
note_passed() { mkdir -p "$MUSTER_CACHE/passed" && : >"$MUSTER_CACHE/passed/$1"; }

# Bazel with one output base per configuration, so that switching between them rebuilds nothing.
muster_output_base() {
  printf '%s/out/%s-%s' "$MUSTER_CACHE" "$(printf '%s' "$MUSTER_ROOT" | md5sum | cut -c1-8)" "$1"
}

muster_bazel() { (exec_bazel "$@"); }

# bazel_with_progress CONFIG ARGUMENT...: reports the progress of a long build on descriptor 3.
bazel_with_progress() (
  set -o pipefail
  muster_bazel "$@" --curses=no --color=no --show_progress_rate_limit=2 2>&1 |
    /usr/bin/python3 "$MUSTER_ROOT/tools/lib/build_progress.py" 3
)

# Replaces this shell by Bazel's client, so that the pid of a background job is the one to signal.
exec_bazel() {
  cd "$MUSTER_ROOT"
  bazel_command "$@"
  exec "${BAZEL[@]}"
}

# bazel_command CONFIG ARGUMENT...: stores in BAZEL the command to run in the checkout.
bazel_command() { BAZEL=(bazel --output_base="$(muster_output_base "$1")" --max_idle_secs=120 "${@:2}"); }

# The folder of built programs of the default configuration, found without asking Bazel.
muster_bin() { printf '%s/execroot/muster/bazel-out/k8-fastbuild/bin' "$(muster_output_base default)"; }
