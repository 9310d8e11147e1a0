"""Tests against a real S3-compatible server (s3_server.h)."""

def s3_test(name, srcs, deps, data = [], tags = [], args = [], timeout = "moderate", **kwargs):
    """Makes a test of a GoogleTest binary that can start the server, which is built with the control plane of other tests.

    Args:
      name: the test; the binary is NAME_bin.
      args: arguments of the binary.
      **kwargs: further attributes of the binary.
    """
    all_tags = ["cluster", "no-sandbox", "no-sanitizer"] + tags
    native.cc_binary(
        name = name + "_bin",
        testonly = True,
        srcs = srcs,
        linkstatic = False,
        tags = all_tags,
        deps = deps,
        data = data,
        **kwargs
    )
    native.sh_test(
        name = name,
        srcs = ["//tests/testenv:run_s3_test.py"],
        args = ["$(rootpath :%s_bin)" % name] + args,
        data = [":%s_bin" % name, "//tests/testenv:tool"] + data,
        tags = all_tags,
        timeout = timeout,
    )
