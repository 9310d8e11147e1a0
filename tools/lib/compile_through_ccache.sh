#!/bin/sh
# The compiler that Bazel calls (tools/setup installs this file as it). Bazel's key of a compilation holds every header
# that the target's dependencies declare; ccache's holds those that the compiler read, so an edited header costs a
# compilation only where it is included. Bazel restores headers with new times and calls in other folders, which
# ccache is told not to mind.
cache="${0%/compiler/*}"
export CCACHE_DIR="$cache/ccache" CCACHE_CONFIGPATH=/dev/null CCACHE_MAXSIZE=10G
export CCACHE_DEPEND=1 CCACHE_NOHASHDIR=1
export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
case "$*" in
  */prelude/torch_*) ;;
  *) exec /usr/bin/ccache /usr/bin/clang-19 "$@" ;;
esac
# Clang knows LibTorch's headers by the paths that they have in the precompiled header; Bazel declares them by others.
/usr/bin/ccache /usr/bin/clang-19 "$@" || exit
while [ "$#" -gt 1 ]; do
  [ "$1" != -MF ] || sed -i "s#$cache/sdk/torch-[^/]*/#external/libtorch/#" "$2"
  shift
done
