"""cc_library, cc_binary and cc_test of every BUILD file: Bazel's own with a precompiled header (prelude.bzl)."""

# What only tests are made of is compiled for an edit, what is shipped for speed.
_TEST_COPTS = ["-O0"]

def _with_prelude(rule, plain, kwargs):
    prelude = "tests_prelude" if plain else "prelude"
    copts = select({
        "//third_party/prelude:off": [],
        "//conditions:default": ["-include-pch", "$(GENDIR)/third_party/prelude/%s.pch" % prelude],
    })
    kwargs["copts"] = (_TEST_COPTS if plain else []) + copts + kwargs.pop("copts", [])
    kwargs["deps"] = kwargs.pop("deps", []) + ["//third_party/prelude:" + prelude]
    rule(**kwargs)

# `optimized`: of a test that computes for long; compiled as what is shipped.

def cc_library(optimized = False, **kwargs):
    _with_prelude(native.cc_library, kwargs.get("testonly", False) and not optimized, kwargs)

def cc_binary(optimized = False, **kwargs):
    _with_prelude(native.cc_binary, kwargs.get("testonly", False) and not optimized, kwargs)

def cc_test(optimized = False, **kwargs):
    _with_prelude(native.cc_test, not optimized, kwargs)
