"""What the sanitizers' configurations of .bazelrc compile, and how."""

# These rooms are compiled without a sanitizer even under one, as proto is: they hold pure decisions, so they have no
# threads, and their own tests run without a sanitizer (tools/law.toml). Their objects are then those of the usual build.
# tools/test --full instruments them, too.
_UNINSTRUMENTED = [
    "agent/core",
    "operator/alerts",
    "operator/core",
    "operator/placement",
    "operator/queue",
    "planner",
]
_INSTRUMENTED = ["operator/placement/cluster"]  # parses what foreign objects say

_COMMON = ["-g1", "-O1"]

# object-size is off because the address sanitizer finds the same errors and the check takes a fifth of the build; vptr is
# off because its run time needs clang++, with which Bazel does not link.
ADDRESS_COPTS = _COMMON + [
    "-fsanitize=address,undefined",
    "-fno-sanitize=object-size,vptr",
    "-fno-sanitize-recover=undefined",
    "-fno-omit-frame-pointer",
]
THREAD_COPTS = _COMMON + ["-fsanitize=thread"]

def _is_in(package, rooms):
    return any([package == room or package.startswith(room + "/") for room in rooms])

def is_instrumented(package):
    """Whether the sanitizers' configurations compile the targets of a package with their sanitizer."""
    return _is_in(package, _INSTRUMENTED) or not _is_in(package, _UNINSTRUMENTED)
