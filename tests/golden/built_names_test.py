#!/usr/bin/python3
"""usage: built_names_test.py --list=FILE [--names=PROGRAM] [--flags=PROGRAM ...] [--print=FILE]

Compares the names that built programs print with the golden list: the output of --names, lines of a kind and a name,
and the subcommands and flags in the help of each program of --flags. With --print the names are written to a file, as
a part of the list, and not compared.
"""
import argparse
import pathlib
import re
import subprocess
import sys

FLAGS = "subcommands and flags"
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def said(program, *arguments):
    """The output of a program. One that does not know --help prints its usage when it refuses the flag."""
    ended = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=60, env={"HOME": "/nonexistent"})
    return ended.stdout + ended.stderr


def flags_by_command(program, tool):
    overview = said(program, "--help")
    commands = re.findall(r"^  ([a-z]+)\b", overview, re.M)
    yield from (f"{tool} {flag}" for flag in FLAG.findall(overview.split("\n\n")[-1]))
    for command in commands:
        help_text = said(program, command, "--help")
        yield help_text.splitlines()[0]
        lines = re.findall(r"^  (--[a-z-]+)( VALUE)?", help_text, re.M)
        yield from (f"{tool} {command} {flag}{value}" for flag, value in lines)


def flags_of(program):
    """The subcommands and flags in the program's own help."""
    name = pathlib.Path(program).name
    tools = {"muster": "muster", "kubectl-muster": "kubectl muster"}
    if name in tools:
        yield from flags_by_command(program, tools[name])
        return
    usage = said(program, "--help")
    yield from (f"{name} {word}" for word in re.findall(rf"^usage: {name} ([a-z]+)", usage, re.M))
    yield from (f"{name} {flag}" for flag in FLAG.findall(usage) if flag != "--help")
    # The agent lists its flags as names, without their dashes.
    names = re.search(r"^names: (.*?);", usage, re.M | re.S)
    yield from (f"{name} --{word}" for word in re.sub(r"\([^)]*\)", "", names[1] if names else "").split())


def found_names(arguments):
    """{heading: names} of the programs in the arguments."""
    kinds = {}
    if arguments.names:
        told = subprocess.run([arguments.names], stdout=subprocess.PIPE, text=True, timeout=60, check=True).stdout
        for line in told.splitlines():
            kind, name = line.split("\t")
            kinds.setdefault(kind, set()).add(name)
    for program in arguments.flags:
        kinds.setdefault(FLAGS, set()).update(flags_of(program))
    return kinds


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--list", required=True, type=pathlib.Path)
    parser.add_argument("--reader", required=True, type=pathlib.Path)
    parser.add_argument("--names")
    parser.add_argument("--flags", action="append", default=[])
    parser.add_argument("--print", type=pathlib.Path)
    arguments = parser.parse_args()
    sys.path.insert(0, str(arguments.reader.parent))
    import golden_list

    found = found_names(arguments)
    if arguments.print:
        arguments.print.write_text(golden_list.render(found, head=""))
        return
    wrong = golden_list.differences(golden_list.parse(arguments.list.read_text()), found)
    wrong += [] if found else ["no program was asked for its names"]
    for line in wrong:
        print(line)
    sys.exit(f"{len(wrong)} names differ; {golden_list.ACCEPT}" if wrong else 0)


main()
