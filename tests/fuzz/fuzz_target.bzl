"""One fuzz target: NAME_fuzz from NAME_fuzz.cc, its seeds in corpus/NAME."""

def fuzz_target(name, deps):
    native.cc_binary(
        name = name + "_fuzz",
        testonly = True,
        srcs = [name + "_fuzz.cc"],
        linkopts = ["-fsanitize=fuzzer,address,undefined"],
        # Only tools/fuzz builds these targets.
        tags = [
            "fuzz",
            "manual",
        ],
        deps = deps,
    )
    native.filegroup(
        name = name + "_corpus",
        srcs = native.glob(["corpus/" + name + "/**"]),
    )
