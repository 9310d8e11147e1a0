"""C++ from .proto files with Debian's protoc, because proto_library needs a protobuf repository."""

def muster_proto_library(name, src, deps = [], grpc = False, visibility = None):
    """Makes a cc_library of one .proto file, and `<name>_descriptor`, its descriptor set with comments.

    Args:
      name: of the cc_library.
      src: the .proto file, imported by its path from the root of the repository.
      deps: other muster_proto_library targets of the same package that it imports, by name.
      grpc: whether to generate the services too.
      visibility: of both targets.
    """
    stem = src[:-len(".proto")]
    package = native.package_name()
    outs = [stem + ".pb.cc", stem + ".pb.h"]
    flags = "--cpp_out=$(GENDIR)"
    if grpc:
        outs += [stem + ".grpc.pb.cc", stem + ".grpc.pb.h"]
        flags += " --grpc_out=$(GENDIR) --plugin=protoc-gen-grpc=/usr/bin/grpc_cpp_plugin"
    srcs = [src] + [dep + "_srcs" for dep in deps]
    native.filegroup(name = name + "_srcs", srcs = srcs, visibility = visibility)
    native.genrule(
        name = name + "_gen",
        srcs = [":" + name + "_srcs"],
        outs = outs,
        cmd = "protoc -I. %s %s/%s" % (flags, package, src),
    )
    native.genrule(
        name = name + "_descriptor",
        srcs = [":" + name + "_srcs"],
        outs = [stem + ".desc"],
        cmd = "protoc -I. --include_imports --include_source_info --descriptor_set_out=$@ %s/%s" % (package, src),
        visibility = visibility,
    )
    native.cc_library(
        name = name,
        srcs = [out for out in outs if out.endswith(".cc")],
        hdrs = [out for out in outs if out.endswith(".h")],
        copts = ["-w"],
        deps = deps + (["@system//:grpc"] if grpc else ["@system//:protobuf"]),
        visibility = visibility,
    )
