"""cc_library, cc_binary and cc_test of every BUILD file: Bazel's own with a precompiled header (prelude.bzl)."""

# What tests alone are made of is compiled for an edit, what is shipped for speed.
_TEST_COPTS = ["-O0"]

def _with_prelude(rule, testonly, kwargs):
    prelude = "tests_prelude" if testonly else "prelude"
    copts = select({
        "//third_party/prelude:off": [],
        "//conditions:default": ["-include-pch", "$(GENDIR)/third_party/prelude/%s.pch" % prelude],
    })
    kwargs["copts"] = (_TEST_COPTS if testonly else []) + copts + kwargs.pop("copts", [])
    kwargs["deps"] = kwargs.pop("deps", []) + ["//third_party/prelude:" + prelude]
    rule(**kwargs)

def cc_library(**kwargs):
    _with_prelude(native.cc_library, kwargs.get("testonly", False), kwargs)

def cc_binary(**kwargs):
    _with_prelude(native.cc_binary, kwargs.get("testonly", False), kwargs)

def cc_test(**kwargs):
    _with_prelude(native.cc_test, True, kwargs)
