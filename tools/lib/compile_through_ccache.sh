#!/bin/sh
# The compiler that Bazel calls (tools/setup installs this file as it). Bazel's key of a compilation holds every header
# that the target's dependencies declare; ccache's holds those that the compiler read, so an edited header costs a
# compilation only where it is included. Bazel restores headers with new times and calls in other folders, which
# ccache is told not to mind.
cache="${0%/compiler/*}"
export CCACHE_DIR="$cache/ccache" CCACHE_CONFIGPATH=/dev/null CCACHE_MAXSIZE=10G
export CCACHE_DEPEND=1 CCACHE_NOHASHDIR=1
export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
/usr/bin/ccache /usr/bin/clang-19 "$@" || exit
prelude="" list=""
while [ "$#" -gt 1 ]; do
  case "$1" in
    -include-pch) prelude="$2" ;;
    -MF) list="$2" ;;
  esac
  shift
done
# Clang does not list the precompiled header among what it has read, so within a clone Bazel would take objects for
# current that were made with another; and it knows LibTorch's headers by the paths that they have there, where Bazel
# declares others.
[ -z "$prelude" ] || [ -z "$list" ] || sed -i -e "1s#:#: $prelude#" -e "s#$cache/sdk/torch-[^/]*/#external/libtorch/#" "$list"
