"""Cuts C++ text into tokens, as far as finding string literals and their context needs it."""
import re

_TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|/\*.*?\*/|^[ \t]*\#[ \t]*(?:include|error|warning)[^\n]*)
      | (?P<raw>(?:u8|[uUL])?R"(?P<fence>[^()\s\\"]*)\((?P<body>.*?)\)(?P=fence)")
      | (?P<string>(?:u8|[uUL])?"(?P<text>(?:[^"\\\n]|\\.)*)")
      | (?P<char>'(?:[^'\\\n]|\\.)+')
      | (?P<number>\.?\d(?:[eEpP][+-]|'?[\w.])*)
      | (?P<word>[A-Za-z_]\w*)
      | (?P<mark>::|->|.)""",
    re.X | re.S | re.M,
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "'": "'", "\n": "", "0": "\0"}


class Literal(str):
    """The value of a string literal; all other tokens are plain text."""


def _value(text):
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[0]), text, flags=re.S)


def tokens(text):
    """Words, numbers, marks and Literals in order, without comments; adjacent literals are one."""
    found = []
    for match in _TOKEN.finditer(text):
        if match["skip"] is not None:
            continue
        if match["raw"] is not None or match["string"] is not None:
            value = match["body"] if match["raw"] is not None else _value(match["text"])
            if found and isinstance(found[-1], Literal):
                value = found.pop() + value
            found.append(Literal(value))
        else:
            found.append(match[0])
    return found


def matching(found, start):
    """The place of the bracket that closes the one at `start`; the end of the file when none does."""
    depth = 0
    for place in range(start, len(found)):
        if isinstance(found[place], Literal):
            continue
        depth += (found[place] in ("(", "{", "[")) - (found[place] in (")", "}", "]"))
        if depth == 0:
            return place
    return len(found)
