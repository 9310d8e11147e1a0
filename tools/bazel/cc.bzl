"""cc_library, cc_binary and cc_test of every BUILD file: Bazel's own with a precompiled header (prelude.bzl) and, under
a sanitizer, with its flags (sanitizers.bzl). Most targets are a cc_module: a library and its test."""

load("//tools/bazel:sanitizers.bzl", "ADDRESS_COPTS", "THREAD_COPTS", "is_instrumented")

# Code that only tests use is compiled quickly, without optimisation; shipped code and benchmarks are optimised. Benchmarks
# must not link unoptimised code: the linker keeps one copy of an inline function, and it might keep the slow one.
_TEST_COPTS = ["-O0"]

def _plain(kwargs, optimized):
    measures = native.package_name().startswith("tests/bench")
    return kwargs.get("testonly", False) and not optimized and not measures

def _with_prelude(rule, plain, kwargs):
    prelude = "tests_prelude" if plain else "prelude"
    deps = kwargs.pop("deps", [])
    torch = "torch_" if type(deps) == "list" and "@libtorch//:torch" in deps else ""
    before, after = _TEST_COPTS if plain else [], kwargs.pop("copts", [])
    variants = {"//conditions:default": (torch + prelude, []), "//tools/bazel:address_everywhere": (prelude + "_address", ADDRESS_COPTS)}
    if is_instrumented(native.package_name()):
        variants["//tools/bazel:address"] = (prelude + "_address", ADDRESS_COPTS)
        variants["//tools/bazel:thread"] = (prelude + "_thread", THREAD_COPTS)
    copts = {"//third_party/prelude:off": before + after}
    for condition, (name, flags) in variants.items():
        copts[condition] = flags + before + ["-include-pch", "$(GENDIR)/third_party/prelude/%s.pch" % name] + after
    kwargs["copts"] = select(copts)
    kwargs["deps"] = deps + select({
        condition: ["//third_party/prelude:" + name]
        for condition, (name, _) in variants.items()
    })
    rule(**kwargs)

# `optimized` is set for tests that compute for long and for test code that benchmarks use: it is compiled like shipped code.

def cc_library(optimized = False, **kwargs):
    _with_prelude(native.cc_library, _plain(kwargs, optimized), kwargs)

def cc_binary(optimized = False, **kwargs):
    _with_prelude(native.cc_binary, _plain(kwargs, optimized), kwargs)

def cc_test(optimized = False, **kwargs):
    _with_prelude(native.cc_test, not optimized, kwargs)

def cc_module(name, deps = [], test_deps = None, **kwargs):
    """Makes the library of `<name>.h` and of `<name>.cc`, if there is one, and the small test `<name>_test` of it.

    Args:
      name: of the library and of its files.
      deps: of the library.
      test_deps: of `<name>_test.cc`, without the library and GoogleTest; None if there is no test, or if it is a target
        of its own because it needs data or tags.
      **kwargs: of cc_library.
    """
    cc_library(name = name, srcs = native.glob([name + ".cc"]), hdrs = [name + ".h"], deps = deps, **kwargs)
    if test_deps != None:
        cc_test(
            name = name + "_test",
            size = "small",
            srcs = [name + "_test.cc"],
            deps = [":" + name] + test_deps + ["@system//:gtest_main"],
        )
