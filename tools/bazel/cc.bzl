"""cc_library, cc_binary and cc_test of every BUILD file: Bazel's own with a precompiled header (prelude.bzl)."""

# What only tests are made of is compiled for an edit, what is shipped and what measures it for speed: in a program that
# is linked statically, one unoptimised copy of an inline function takes the place of everybody's.
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

# `optimized`: of a test that computes for long, or what benchmarks are made of too; compiled as what is shipped.

def cc_library(optimized = False, **kwargs):
    _with_prelude(native.cc_library, _plain(kwargs, optimized), kwargs)

def cc_binary(optimized = False, **kwargs):
    _with_prelude(native.cc_binary, _plain(kwargs, optimized), kwargs)

def cc_test(optimized = False, **kwargs):
    _with_prelude(native.cc_test, not optimized, kwargs)
