"""Finds the metrics, labels and selectors of a PromQL expression. Prometheus itself checks the grammar; this reads only what
is compared with the catalogue of metrics."""
import dataclasses
import re

TOKEN = re.compile(r'''\s+|(?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|(?P<range>\[[^\]]*\])|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[a-z]*)'''
                   r'''|(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)|(?P<sign>=~|!~|!=|==|<=|>=|[-+*/%^(){}<>=,@])|(?P<variable>\$\w+)''')
FUNCTIONS = frozenset("""absent absent_over_time avg avg_over_time bottomk ceil changes clamp clamp_max clamp_min count count_over_time delta
    deriv floor histogram_quantile idelta increase irate label_replace last_over_time max max_over_time min min_over_time predict_linear
    quantile rate resets round scalar sort sort_desc sum sum_over_time time timestamp topk vector""".split())
GROUPING = frozenset(("by", "without", "on", "ignoring", "group_left", "group_right"))
WORDS = frozenset(("and", "or", "unless", "offset", "bool", "inf", "nan"))


class PromqlError(Exception):
    """An expression that cannot be read, as a sentence for the user."""


@dataclasses.dataclass(frozen=True)
class Selector:
    """A metric with its matchers: ((label, operator, value), ...)."""
    metric: str
    matchers: tuple = ()

    def __str__(self):
        inside = ", ".join(f'{label}{sign}"{value}"' for label, sign, value in self.matchers)
        return f"{self.metric}{{{inside}}}" if inside else self.metric


@dataclasses.dataclass
class Names:
    """What an expression names: its selectors, and the labels that it groups or matches by."""
    selectors: list
    labels: set


def _tokens(expression):
    at, found = 0, []
    while at < len(expression):
        match = TOKEN.match(expression, at)
        if match is None:
            raise PromqlError(f"{expression!r}: {expression[at:at + 10]!r} is no token of PromQL")
        if match.lastgroup:
            found.append((match.lastgroup, match[0]))
        at = match.end()
    return found + [("end", "")]


def _matchers(tokens, at):
    """The matchers between braces, and where the text after them begins."""
    made = []
    while tokens[at][1] != "}":
        if tokens[at][1] == ",":
            at += 1
            continue
        label, sign, value = tokens[at:at + 3]
        if label[0] != "name" or sign[1] not in ("=", "!=", "=~", "!~") or value[0] != "text":
            raise PromqlError(f"{label[1]!r} {sign[1]!r} {value[1]!r} is no matcher")
        made.append((label[1], sign[1], value[1][1:-1]))
        at += 3
    return tuple(made), at + 1


def names(expression):
    """The names of an expression; raises PromqlError for a function that this does not know."""
    tokens, at, found = _tokens(expression), 0, Names([], set())
    while tokens[at][0] != "end":
        kind, word = tokens[at]
        at += 1
        if kind != "name" or word in WORDS:
            continue
        if word in GROUPING:
            while tokens[at][1] == "(" or tokens[at][1] == ",":
                at += 1
                if tokens[at][0] == "name":
                    found.labels.add(tokens[at][1])
                    at += 1
            at += tokens[at][1] == ")"
        elif tokens[at][1] == "(" or (word in FUNCTIONS and tokens[at][1] in ("by", "without")):
            if word not in FUNCTIONS:
                raise PromqlError(f"{expression!r}: the function {word!r} is not known; a new one is added to tools/lib/promql.py")
        elif tokens[at][1] == "{":
            matchers, at = _matchers(tokens, at + 1)
            found.selectors.append(Selector(word, matchers))
        else:
            found.selectors.append(Selector(word))
    return found
