"""Finds calls of CUDA, NCCL and NVML whose result is dropped."""
import re

# A call that begins a statement, possibly after a condition or a cast to void, and through a table of functions.
_CALL = re.compile(r"(?P<before>[;{})]|\belse|\bdo|\A)\s*(?P<call>(?:\w+(?:\.|->|::))*(?:cuda|nccl|nvml|cu)[A-Z]\w*)\s*\(")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"", re.S)


def _end(text, at):
    """The index after the parenthesis that closes the one at `at`."""
    depth = 0
    for index in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[index], 0)
        if depth == 0:
            return index + 1
    return len(text)


def dropped(source):
    """[(line, function)] of the calls in a C++ source that stand as statements of their own."""
    text = _COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), source)
    found = []
    for match in _CALL.finditer(text):
        if text[_end(text, match.end() - 1):].lstrip().startswith(";"):
            found.append((text.count("\n", 0, match.start("call")) + 1, match["call"]))
    return found
