"""Reads BUILD files by running their Starlark as Python, with stand-ins that record the rules."""
import fnmatch
import functools
import pathlib

TESTS = ("cc_test", "sh_test", "py_test", "cluster_test", "s3_test", "cuda_test")
RULES = ("cc_library", "cc_binary", "filegroup", *(test for test in TESTS if test != "cuda_test"))


def _label(package, text):
    if text.startswith(("//", "@")):
        return text if ":" in text else f"{text}:{text.rsplit('/', 1)[-1]}"
    return f"//{package}:{text.lstrip(':')}"


def _path(package, text):
    return f"{package}/{text}".lstrip("/") if not text.startswith(("//", "@", ":")) else ""


class _Recorder(dict):
    """The names visible in a BUILD file: rules record their arguments, anything else does nothing."""

    def __init__(self, root, build, files, targets):
        super().__init__()
        self.build, self.package, self.targets = build, str(build.parent).replace(".", "", 1) if str(build.parent) == "." else str(build.parent), targets
        self.files = files
        for rule in RULES:
            self[rule] = functools.partial(self._rule, rule=rule, testonly=rule.endswith("_test"))
        self["cc_module"] = self._module
        self["glob"] = self._glob
        self["muster_proto_library"] = self._proto
        self["cuda_library"] = functools.partial(self._cuda, rule="cc_library")
        self["cuda_benchmark"] = functools.partial(self._cuda, rule="cc_binary", testonly=True)
        self["cuda_host_library"] = functools.partial(self._cuda, rule="cc_library")
        self["cuda_test"] = functools.partial(self._cuda, rule="cc_test", testonly=True)
        self["exports_files"] = lambda *args, **kwargs: []
        self["native"] = self

    def __missing__(self, name):
        if name in __builtins__:
            raise KeyError(name)
        return lambda *args, **kwargs: []

    def _glob(self, patterns, **kwargs):
        inside = [str(f.relative_to(self.package)) for f in self.files if self.package and str(f).startswith(self.package + "/")]
        return [f for f in inside if any(fnmatch.fnmatch(f, p) for p in patterns)]

    def _rule(self, name, srcs=(), hdrs=(), deps=(), data=(), tags=(), testonly=False, rule="cc_library", optimized=False, **kwargs):
        srcs, data = ([s for s in names if isinstance(s, str)] for names in (srcs, data))
        self.targets[f"//{self.package}:{name}"] = {
            "file": self.build,
            "package": self.package,
            "srcs": [p for p in (_path(self.package, s) for s in srcs) if p],
            "hdrs": [p for p in (_path(self.package, h) for h in hdrs) if p],
            "deps": [_label(self.package, d) for d in deps],
            "data": [_label(self.package, d) for d in [*srcs, *data]],
            "exports": [],
            "tags": list(tags),
            "testonly": testonly,
            "rule": rule,
            "optimized": optimized,
        }

    def _module(self, name, deps=(), test_deps=None, **kwargs):
        srcs = [f"{name}.cc"] if pathlib.Path(self.package, f"{name}.cc") in self.files else []
        self._rule(name, srcs=srcs, hdrs=[f"{name}.h"], deps=deps, **kwargs)
        if test_deps is not None:
            self._rule(f"{name}_test", rule="cc_test", testonly=True, srcs=[f"{name}_test.cc"], deps=[f":{name}", *test_deps, "@system//:gtest_main"])

    def _cuda(self, name, rule, cuda_deps=(), deps=(), **kwargs):
        own = "@system//:gtest_main" if rule == "cc_test" else "@cuda//:headers"
        self._rule(name, rule=rule, deps=[*cuda_deps, *deps, own], **kwargs)

    def _proto(self, name, src, deps=(), grpc=False, **kwargs):
        stem = src[: -len(".proto")]
        headers = [f"{stem}.pb.h"] + ([f"{stem}.grpc.pb.h"] if grpc else [])
        self._rule(name, hdrs=headers, deps=list(deps) + (["@system//:grpc"] if grpc else ["@system//:protobuf"]))
        self.targets[f"//{self.package}:{name}"]["exports"] = [_label(self.package, d) for d in deps] + ["@system//:protobuf"]


def inputs(label, targets):
    """The labels of everything that a target and what it depends on name as sources and data: of files, and of targets."""
    found, unseen = set(), [label]
    while unseen:
        one = unseen.pop()
        if one not in found:
            found.add(one)
            target = targets.get(one, {"data": (), "deps": ()})
            unseen += [*target["data"], *target["deps"]]
    return found


def load(root, files):
    """{label: {file, package, srcs, hdrs, deps, data, exports, tags, testonly, rule, optimized}} of C++ and test targets.

    `data` has the labels of srcs as well; an srcs or a data that is no list of names, as of select(), is left out."""
    targets = {}
    for build in (f for f in files if f.name in ("BUILD", "BUILD.bazel")):
        if "tools/bazel" in str(build) or str(build).startswith("third_party"):
            continue
        code = compile((root / build).read_text(), str(build), "exec")
        exec(code, _Recorder(root, pathlib.Path(build), files, targets))
    return targets
