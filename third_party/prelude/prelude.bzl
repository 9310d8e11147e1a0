"""A precompiled header for Clang."""

load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "CPP_COMPILE_ACTION_NAME")
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

def _precompiled_header(ctx):
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    output = ctx.actions.declare_file(ctx.label.name + ".pch")

    # Without timestamps the output is the same on every machine; templates that are instantiated here are not
    # instantiated again in each file.
    own = ["-Xclang", "-fno-pch-timestamp", "-fpch-instantiate-templates", "-x", "c++-header"]
    variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = toolchain,
        user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts + ctx.attr.copts + own,
        source_file = "-",
        output_file = output.path,
        use_pic = True,
    )
    flags = cc_common.get_memory_inefficient_command_line(
        feature_configuration = features,
        action_name = CPP_COMPILE_ACTION_NAME,
        variables = variables,
    )
    compiler = cc_common.get_tool_for_action(
        feature_configuration = features,
        action_name = CPP_COMPILE_ACTION_NAME,
    )

    # The header comes from standard input: Clang would look for a named file again when it reads the output, and the
    # sandbox is gone by then. Clang also writes the folder in which it runs into the output, and the folders of
    # headers as absolute paths, so these must be the same in all clones: / and the paths of what the links of Bazel lead to.
    sources = ctx.files.includes + ctx.files.header
    contexts = [dep[CcInfo].compilation_context for dep in ctx.attr.deps]
    folders = depset(transitive = [context.system_includes for context in contexts]).to_list()
    ctx.actions.run_shell(
        mnemonic = "CppPrecompile",
        command = "out=$PWD/%s && cat %s | grep -v '#include \"%s/' | (cd / && exec %s \"$@\" %s -o $out)" % (
            output.path,
            " ".join([source.path for source in sources]),
            ctx.label.package,
            compiler,
            " ".join(["-isystem $(realpath $OLDPWD/%s)" % folder for folder in folders if not folder.startswith("bazel-out/")]),
        ),
        arguments = flags,
        inputs = depset(sources, transitive = [toolchain.all_files] + [context.headers for context in contexts]),
        outputs = [output],
        use_default_shell_env = True,
        # In a sandbox each header is a link of its own, so a folder leads nowhere.
        execution_requirements = {"no-sandbox": "1"} if folders else {},
    )
    compilation = cc_common.create_compilation_context(headers = depset([output]))
    return [
        DefaultInfo(files = depset([output])),
        CcInfo(compilation_context = compilation),
    ]

precompiled_header = rule(
    implementation = _precompiled_header,
    attrs = {
        "copts": attr.string_list(doc = "flags of the files that include the header; they must be the same here"),
        "deps": attr.label_list(providers = [CcInfo], doc = "libraries of others whose headers it includes"),
        "header": attr.label(allow_single_file = [".h"], mandatory = True),
        "includes": attr.label_list(allow_files = [".h"], doc = "the headers of this folder that it includes"),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
    incompatible_use_toolchain_transition = True,
)
