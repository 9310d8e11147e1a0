"""cc_library, cc_binary and cc_test of every BUILD file: Bazel's own with a precompiled header (prelude.bzl)."""

# Code that only tests use is compiled quickly, without optimisation; shipped code and benchmarks are optimised. Benchmarks
# must not link unoptimised code: the linker keeps one copy of an inline function, and it might keep the slow one.
_TEST_COPTS = ["-O0"]

def _plain(kwargs, optimized):
    measures = native.package_name().startswith("tests/bench")
    return kwargs.get("testonly", False) and not optimized and not measures

def _with_prelude(rule, plain, kwargs):
    prelude = "tests_prelude" if plain else "prelude"
    copts = select({
        "//third_party/prelude:off": [],
        "//conditions:default": ["-include-pch", "$(GENDIR)/third_party/prelude/%s.pch" % prelude],
    })
    kwargs["copts"] = (_TEST_COPTS if plain else []) + copts + kwargs.pop("copts", [])
    kwargs["deps"] = kwargs.pop("deps", []) + ["//third_party/prelude:" + prelude]
    rule(**kwargs)

# `optimized` is set for tests that compute for long and for test code that benchmarks use: it is compiled like shipped code.

def cc_library(optimized = False, **kwargs):
    _with_prelude(native.cc_library, _plain(kwargs, optimized), kwargs)

def cc_binary(optimized = False, **kwargs):
    _with_prelude(native.cc_binary, _plain(kwargs, optimized), kwargs)

def cc_test(optimized = False, **kwargs):
    _with_prelude(native.cc_test, not optimized, kwargs)
