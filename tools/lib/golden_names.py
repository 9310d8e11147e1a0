"""Finds the names that users see in the sources of the product, by the form and the context of string literals.

This file names no file, folder or function of muster, because those may be renamed: the BUILD files say which sources
belong to the product, and the form of a literal says what it is. So a moved file changes nothing. A changed name is
reported twice, as missing and as new. If other code still uses the old name, only the new one is reported, or the
changed line of the pairs that contain it.
"""
import re

import build_files
from cpp_tokens import Literal, matching, tokens

NOT_PRODUCT = ("//tests", "//tools", "//third_party")

# The first form that fits the whole literal decides.
FORMS = [
    ("literals, dotted: files, fields, tensors, API groups", r"\.?[\w%-]+(\.[\w%-]+)+"),
    ("literals, CamelCase: conditions, reasons, events, states, API kinds", r"[A-Z][a-z0-9]+([A-Z][a-z0-9]*)*"),
    ("literals, capitals: environment variables, methods, marks", r"[A-Z][A-Z0-9_]{3,}=?"),
    ("literals, domain/name: labels, annotations, finalizers, resources", r"([a-z0-9-]+\.)+[a-z0-9]+/[\w./-]*=?"),
    ("literals, paths: HTTP and files", r"/[\w%./-]*|\.[\w-]+/[\w./-]*|[\w-]+/[\w./-]+"),
    ("literals, with dashes: flags, objects, prefixes of names", r"[a-z][\w.]*(-[\w%]*)+"),
    ("literals, schemes", r"[a-z]+:(//)?[\w/]*"),
]
WORD = ("literals, one word: JSON fields, flags, words of the HTTP API", r"[a-z_][A-Za-z0-9_]*")
LOG_LINES = "log lines: message and keys"
LOG_KEYS = "log keys"
OBJECTS = "pairs: fields of JSON objects, flags and variables, in order"
ASSIGNED = "pairs: JSON fields that one function sets"
VARIABLES = "environment variables in any text"
EXIT_CODES = "exit codes"

LOG_CALL = re.compile(r"[A-Z]+_LOG(_LIMITED)?$")
LOG_LEVELS = {"DEBUG", "INFO", "WARN", "ERROR"}
SCOPES = {"namespace", "class", "struct", "union", "enum", "extern"}


def product_sources(root, files):
    """The C++ files of every target that ships."""
    found = set()
    for label, target in build_files.load(root, files).items():
        if not target["testonly"] and not label.startswith(NOT_PRODUCT):
            found.update(f for f in target["srcs"] + target["hdrs"] if f.endswith((".h", ".cc")) and (root / f).is_file())
    return sorted(found)


def _arguments(found, start, end):
    """The tokens between two brackets, cut at the commas of their own level."""
    parts, depth = [[]], 0
    for token in found[start + 1 : end]:
        if not isinstance(token, Literal):
            depth += (token in ("(", "{", "[")) - (token in (")", "}", "]"))
            if token == "," and depth == 0:
                parts.append([])
                continue
        parts[-1].append(token)
    return [part for part in parts if part]


def _key(part):
    """K of `{"K", ...}`, else None."""
    is_pair = len(part) > 3 and part[0] == "{" and isinstance(part[1], Literal) and part[2] == ","
    return str(part[1]) if is_pair and not re.search(r"\s", part[1]) else None


def _is_log(found, at):
    opens = found[at + 1 : at + 2] == ["("]
    return opens and LOG_CALL.match(found[at]) and found[at + 2] in LOG_LEVELS


def _log_line(found, at, end, names):
    parts = _arguments(found, at + 1, end)
    keys = [key for key in map(_key, parts) if key]
    # The first text of a rate-limited line is not part of the message: it is the key by which the line is limited.
    message = parts[2 if "LIMITED" in found[at] else 1]
    said = " or ".join(token for token in message if isinstance(token, Literal))
    names[LOG_LINES].add(f"{said or '(composed)'}: {' '.join(keys)}".rstrip())
    names[LOG_KEYS].update(keys)


def _pair_key(found, at):
    """K where `{"K", ...}` begins, else None."""
    return _key(found[at : at + 4])


def _run(found, at, names):
    """Pairs one after another, `{"a", ...}, {"b", ...}`: a JSON object, or a table of flags or environment."""
    keys, places = [], []
    while _pair_key(found, at):
        keys.append(_pair_key(found, at))
        places.append(at)
        at = matching(found, at) + 1
        if found[at : at + 1] != [","]:
            break
        at += 1
    names[OBJECTS].add(" ".join(keys))
    return places


def _assigned(found, start, end):
    """`a.b` of each `x["a"]["b"] = ...` between two places, in order."""
    fields, at = [], start
    while at < end:
        chain = []
        while found[at : at + 1] == ["["] and at + 2 < end and found[at + 2] == "]" and isinstance(found[at + 1], Literal):
            chain.append(str(found[at + 1]))
            at += 3
        if chain and found[at : at + 1] == ["="] and found[at + 1] != "=":
            fields.append(".".join(chain))
        at += 0 if chain else 1
    return fields


def _functions(found):
    """Yields where the bodies of functions begin and end: the braces that only namespaces and classes enclose."""
    at, statement = 0, 0
    while at < len(found):
        token = found[at]
        if isinstance(token, Literal):
            pass
        elif token in (";", "}"):
            statement = at + 1
        elif token == "{":
            if SCOPES.isdisjoint(found[statement:at]) or ")" in found[statement:at]:
                end = matching(found, at)
                yield at, end
                at = end
            statement = at + 1
        at += 1


def _is_name(found, at):
    """Returns True if a single word is a key, an index or an argument, and not a part of a sentence."""
    before, after = found[at - 1 : at], found[at + 1 : at + 2]
    return before and before[0] in ("{", "[", "(", ",", "=", "==", "return") and after and after[0] in ("}", "]", ")", ",", ";", "|", "&")


def _literal(found, at, names):
    text = str(found[at])
    for heading, form in FORMS:
        if re.fullmatch(form, text):
            names[heading].add(text)
            return
    if re.fullmatch(WORD[1], text) and _is_name(found, at):
        names[WORD[0]].add(text)


def _names_of_file(text, names):
    found = tokens(text)
    in_log = 0
    in_run = set()  # where later pairs of a run begin
    for at, token in enumerate(found):
        if isinstance(token, Literal):
            names[VARIABLES].update(re.findall(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b", token))
            if at >= in_log:
                _literal(found, at, names)
        elif _is_log(found, at):
            in_log = matching(found, at + 1)
            _log_line(found, at, in_log, names)
        elif at >= in_log and at not in in_run and _pair_key(found, at):
            in_run.update(_run(found, at, names))
    for start, end in _functions(found):
        fields = _assigned(found, start, end)
        if fields:
            names[ASSIGNED].add(" ".join(fields))
    for name, value in re.findall(r"\bkExit(\w+)\s*=\s*(\d+)", text):
        names[EXIT_CODES].add(f"{value} {name}")


def product_names(root, files):
    """{heading: names} of the product's C++."""
    names = {heading: set() for heading, _ in FORMS + [WORD]}
    names |= {heading: set() for heading in (LOG_LINES, LOG_KEYS, OBJECTS, ASSIGNED, VARIABLES, EXIT_CODES)}
    for path in product_sources(root, files):
        _names_of_file((root / path).read_text(errors="replace"), names)
    return names
