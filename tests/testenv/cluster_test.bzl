"""Tests against a real control plane (tools/testenv)."""

def cluster_test(name, srcs, deps, data = [], tags = [], private = False, flags = [], nodes = 0, env = {}, timeout = "long", **kwargs):
    """Makes a test of a GoogleTest binary that runs in a control plane's network namespace, with its variables set.

    Args:
      name: the test; the binary is NAME_bin.
      private: whether the test has a control plane of its own, which it may break and which lives only
        as long as the test. Otherwise it shares one with all other tests and uses unique names.
      flags: flags of `tools/testenv up` for a private control plane, e.g. "--no-controller-manager",
        "--flag=kube-apiserver:--feature-gates=WatchList=false".
      nodes: the number of nodes with real kubelets, node-0, node-1 ..., of a private control plane. Needs root.
      env: environment variables of the test.
      **kwargs: further attributes of the binary.
    """
    if (flags or nodes) and not private:
        fail("flags and nodes are for a private control plane")
    if nodes:
        flags = flags + ["--nodes=%d" % nodes]
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
        srcs = ["//tests/testenv:run_cluster_test.py"],
        args = (["--private"] if private else []) + flags + ["--", "$(rootpath :%s_bin)" % name],
        data = [":%s_bin" % name, "//tests/testenv:tool"] + data + (["//third_party/installed:containerd"] if nodes else []),
        tags = all_tags,
        env = env,
        timeout = timeout,
    )
