"""Kernels of GPUs: each .cu file is compiled for GPUs by nvcc, and for the CPU, where tests run the same text."""

load("//tools/bazel:cc.bzl", "cc_binary", "cc_library", "cc_test")

# Machine code for A100 and H100; PTX of the latter, from which the driver of any newer card (B200, RTX 50) makes its own:
# PTX of a newer one would leave out those between. Multiplications and additions are not
# fused, so that what the tests on a CPU prove about bits holds on a card; these kernels wait for memory, not for arithmetic.
_FLAGS = [
    "-std=c++20",
    "-O3",
    "-ccbin=clang-19",
    "-gencode=arch=compute_80,code=sm_80",
    "-gencode=arch=compute_90,code=[sm_90,compute_90]",
    "-fmad=false",
    "--compress-mode=size",  # a quarter of the size; the driver unpacks a kernel once, when it is loaded
    "--expt-relaxed-constexpr",
    "-Xcompiler=-fPIC",
    "-Xcompiler=-fclang-abi-compat=17",
    "-Werror=all-warnings",
    "-I.",
]

def _cuda_objects(ctx):
    contexts = depset(transitive = [dep[CcInfo].compilation_context.headers for dep in ctx.attr.deps])
    headers = ctx.files.hdrs + [header for header in contexts.to_list() if header.extension == "h"]
    objects = []
    for source in ctx.files.srcs:
        output = ctx.actions.declare_file(ctx.label.name + "/" + source.basename[:-len(".cu")] + ".o")
        ctx.actions.run(
            mnemonic = "CudaCompile",
            progress_message = "Compiling %s for GPUs" % source.short_path,
            executable = ctx.file._nvcc,
            arguments = _FLAGS + ["-c", source.path, "-o", output.path],
            inputs = [source] + headers,
            tools = ctx.files._toolkit,
            outputs = [output],
            env = {"PATH": "/usr/bin:/bin"},
        )
        objects.append(output)
    return [DefaultInfo(files = depset(objects))]

_cuda_objects_rule = rule(
    implementation = _cuda_objects,
    attrs = {
        "deps": attr.label_list(providers = [CcInfo]),
        "hdrs": attr.label_list(allow_files = [".h", ".cuh"]),
        "srcs": attr.label_list(allow_files = [".cu"]),
        "_nvcc": attr.label(default = "@cuda//:nvidia/cu13/bin/nvcc", allow_single_file = True),
        "_toolkit": attr.label(default = "@cuda//:toolkit"),
    },
)

def _emulated(targets):
    return [target + "_emulated" for target in targets]

def cuda_library(name, srcs, hdrs = [], cuda_deps = [], deps = [], testonly = False, visibility = None):
    """Makes `<name>`, for GPUs, and `<name>_emulated`, whose kernels run on the CPU (trainer/cuda/kernels/emulation.h), for tests.

    Args:
      name: of the library.
      srcs: .cu files.
      hdrs: headers of the library.
      cuda_deps: other cuda_library targets.
      deps: plain libraries.
      testonly: whether only tests may use them.
      visibility: of both libraries.
    """
    _cuda_objects_rule(name = name + "_objects", testonly = testonly, srcs = srcs, hdrs = hdrs, deps = cuda_deps + deps)
    cc_library(
        name = name,
        testonly = testonly,
        alwayslink = True,  # what a shared library is made of
        srcs = [":" + name + "_objects"],
        hdrs = hdrs,
        visibility = visibility,
        deps = cuda_deps + deps + ["@cuda//:runtime"],
    )
    copies = []
    for source in srcs:
        copies.append(source[:-len(".cu")] + "_emulated.cc")
        native.genrule(
            name = copies[-1] + "_copy",
            srcs = [source],
            outs = [copies[-1]],
            cmd = "cp $< $@",
        )
    cc_library(
        name = name + "_emulated",
        testonly = True,
        srcs = copies,
        hdrs = hdrs,
        optimized = True,
        visibility = visibility,
        deps = _emulated(cuda_deps) + deps + ["@cuda//:headers"],
    )

def cuda_host_library(name, srcs, hdrs, cuda_deps, deps = [], visibility = None):
    """Makes `<name>`, host code over kernels for GPUs, and `<name>_emulated`, the same over emulated ones, for tests.

    Args:
      name: of the library.
      srcs: .cc files.
      hdrs: headers of the library.
      cuda_deps: the cuda_library targets whose kernels it launches.
      deps: plain libraries.
      visibility: of both libraries.
    """
    cc_library(name = name, srcs = srcs, hdrs = hdrs, visibility = visibility, deps = cuda_deps + deps)
    cc_library(
        name = name + "_emulated",
        testonly = True,
        srcs = srcs,
        hdrs = hdrs,
        visibility = visibility,
        deps = _emulated(cuda_deps) + deps,
    )

def cuda_test(name, srcs, cuda_deps, deps = [], size = "small", on_gpu = True):
    """Makes `<name>`, a test of emulated kernels, and `<name>_on_gpu`, the same test as a program for a machine with a card.

    Args:
      name: of the test.
      srcs: .cc files.
      cuda_deps: the cuda_library and cuda_host_library targets that are tested.
      deps: plain libraries.
      size: of the test.
      on_gpu: whether the test makes sense on a card; if not, there is no `<name>_on_gpu`.
    """
    cc_test(
        name = name,
        size = size,
        srcs = srcs,
        optimized = True,
        tags = ["no-sanitizer"],  # the threads of a block are fibers, whose stacks the sanitizers do not know
        deps = _emulated(cuda_deps) + deps + ["@system//:gtest_main"],
    )
    if not on_gpu:
        return
    cc_binary(
        name = name + "_on_gpu",
        testonly = True,
        srcs = srcs,
        optimized = True,
        deps = cuda_deps + deps + ["@system//:gtest_main"],
    )

def cuda_benchmark(name, srcs, cuda_deps, deps = []):
    """Makes `<name>`, a program that times kernels on a card, and `<name>_emulated`, the same over emulated ones, for its test."""
    cc_binary(name = name, testonly = True, srcs = srcs, optimized = True, deps = cuda_deps + deps)
    cc_binary(name = name + "_emulated", testonly = True, srcs = srcs, optimized = True, deps = _emulated(cuda_deps) + deps)
