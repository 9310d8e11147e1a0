"""Finds the names that users see in files other than C++: the CRDs, gRPC services, manifests and the HTTP document.

Files are recognized by their contents, so that moving one changes nothing.
"""
import re

FIELDS = "API: fields of the resources"
VALUES = "API: values of enums"
RESOURCES = "API: resources and their columns"
METHODS = "gRPC: methods"
OBJECTS = "manifests: objects that are deployed"
REQUESTS = "HTTP: requests and their parameters"
KINDS = (FIELDS, VALUES, RESOURCES, METHODS, OBJECTS, REQUESTS)

NOT_PRODUCT = ("tests", "tools", "third_party", "examples")
# A generated CRD has this first line; only such a file is searched for fields.
GENERATED = re.compile(r"# Generated from .*\n(?=apiVersion: apiextensions)")


def _lines(text):
    """(indent, is an item, key, value) of each line; block scalars and flow collections stay as they are."""
    for line in text.splitlines():
        match = re.match(r"( *)(- )?([\w.$-]+):(?: (.*))?$", line)
        item = re.match(r"( *)- (.+)$", line)
        if match:
            yield len(match[1]) + (2 if match[2] else 0), bool(match[2]), match[3], match[4] or ""
        elif item:
            yield len(item[1]) + 2, True, "", item[2]


def _paths(text):
    """(keys from the root, value) of each line of a YAML document that the schema tool writes."""
    open_keys = []
    for indent, is_item, key, value in _lines(text):
        while open_keys and (open_keys[-1][0] > indent or (open_keys[-1][0] == indent and key)):
            open_keys.pop()
        # The items of a list stand at the indent of their key.
        while is_item and open_keys and open_keys[-1][0] > indent - 2:
            open_keys.pop()
        if key:
            open_keys.append((indent, key))
        yield [k for _, k in open_keys], value.strip('"')


def _field(keys):
    """spec.checkpoint.interval of the path that names it in the schema, and what follows the last field."""
    names, at = [], 0
    while at < len(keys):
        if keys[at] == "properties" and at + 1 < len(keys):
            names.append(keys[at + 1])
            at += 2
        elif keys[at] in ("items", "additionalProperties"):
            names.append("[]" if keys[at] == "items" else "{}")
            at += 1
        else:
            break
    return ".".join(names).replace(".[]", "[]").replace(".{}", "{}"), keys[at:]


def add_crd(text, names):
    kind = re.search(r"^    kind: (\w+)$", text, re.M)[1]
    for keys, value in _paths(text):
        where = ".".join(keys)
        if "openAPIV3Schema" in keys:
            field, rest = _field(keys[keys.index("openAPIV3Schema") + 1 :])
            if field and not rest:
                names[FIELDS].add(f"{kind}.{field}")
            elif rest == ["enum"] and value:
                names[VALUES].add(f"{kind}.{field} = {value}")
        elif re.match(r"spec\.(group|scope|names\..*)$", where) and value:
            names[RESOURCES].add(f"{kind}: {keys[-1]} {value}")
        elif where in ("spec.versions.name", "spec.versions.additionalPrinterColumns.name"):
            names[RESOURCES].add(f"{kind}: {keys[-2]} {value}")


def add_proto(text, names):
    package = re.search(r"^package ([\w.]+);", text, re.M)
    for service, body in re.findall(r"^service (\w+) \{(.*?)^\}", text, re.M | re.S):
        names[METHODS].update(f"/{package[1]}.{service}/{method}" for method in re.findall(r"^\s*rpc (\w+)", body, re.M))


def add_manifest(text, names):
    for document in re.split(r"^---$", text, flags=re.M):
        kind = re.search(r"^kind: (\w+)$", document, re.M)
        name = re.search(r"^metadata:\n(?:  .*\n)*?  name: (\S+)$", document, re.M)
        if kind and name:
            names[OBJECTS].add(f"{kind[1]} {name[1]}")


def add_requests(text, names):
    """Adds the requests of the HTTP document. A test makes each of them, so the document agrees with the server."""
    for request, parameters in re.findall(r"^\| `((?:GET|POST) [^`]+)` \|([^|]*)\|", text, re.M):
        names[REQUESTS].add(request)
        names[REQUESTS].update(f"{request} {parameter}" for parameter in re.findall(r"`([^`]+)`", parameters))


def document_names(root, files):
    """{heading: names} of the product's documents."""
    names = {heading: set() for heading in KINDS}
    for path in files:
        if path.suffix not in (".yaml", ".proto", ".md") or path.parts[0] in NOT_PRODUCT:
            continue
        text = (root / path).read_text(errors="replace")
        if path.suffix == ".proto":
            add_proto(text, names)
        elif path.suffix == ".md":
            add_requests(text, names)
        elif GENERATED.match(text):
            add_crd(text, names)
            add_manifest(text, names)
        else:
            add_manifest(text, names)
    return names
