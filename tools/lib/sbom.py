"""Writes the bill of materials of an image: SPDX 2.3 as JSON, each file with its digests and its package."""
import hashlib
import re

import oci_layout


def _id(kind, name):
    return f"SPDXRef-{kind}-{re.sub(r'[^A-Za-z0-9.-]', '-', name.replace('+', 'plus'))}"


def _file(layer, path):
    return {"SPDXID": _id("File", f"{path}-{hashlib.sha1(path.encode()).hexdigest()[:8]}"), "fileName": f"./{path}",
            "checksums": [{"algorithm": "SHA1", "checksumValue": layer.digest(path, "sha1")},
                          {"algorithm": "SHA256", "checksumValue": layer.digest(path, "sha256")}],
            "licenseConcluded": "NOASSERTION", "copyrightText": "NOASSERTION"}


def _verification_code(files):
    """SPDX 2.3, 7.9: the SHA-1 of the files' sorted SHA-1s."""
    return hashlib.sha1("".join(sorted(file["checksums"][0]["checksumValue"] for file in files)).encode()).hexdigest()


def _package(package, files):
    answer = {"SPDXID": _id("Package", package.name), "name": package.name, "versionInfo": package.version,
              "supplier": package.supplier, "downloadLocation": "NOASSERTION", "filesAnalyzed": True,
              "packageVerificationCode": {"packageVerificationCodeValue": _verification_code(files)},
              "licenseConcluded": "NOASSERTION", "licenseDeclared": package.license, "copyrightText": package.copyright,
              "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                "referenceLocator": package.url}]}
    if package.license_comment:
        answer["licenseComments"] = package.license_comment
    return answer


def _image(name, tag, digest):
    return {"SPDXID": "SPDXRef-Image", "name": name, "versionInfo": tag, "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "primaryPackagePurpose": "CONTAINER", "licenseConcluded": "NOASSERTION",
            "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION",
            "checksums": [{"algorithm": "SHA256", "checksumValue": digest.partition(":")[2]}]}


def document(name, tag, digest, layers, origins):
    """The document of the image whose manifest has `digest`. `origins` has the Package of each file's path."""
    files, relations = {}, [("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-Image")]
    for layer in layers:
        for path in layer.files():
            files.setdefault(origins[path], []).append(_file(layer, path))
    packages = [_image(name, tag, digest)]
    for package in sorted(files):
        packages.append(_package(package, files[package]))
        relations.append(("SPDXRef-Image", "CONTAINS", packages[-1]["SPDXID"]))
        relations += [(packages[-1]["SPDXID"], "CONTAINS", file["SPDXID"]) for file in files[package]]
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"{name}:{tag}",
            "documentNamespace": f"https://muster.dev/spdx/{name}/{digest.replace(':', '-')}",
            "creationInfo": {"created": oci_layout.timestamp(), "creators": ["Tool: muster-tools-images"]},
            "packages": packages, "files": [file for package in sorted(files) for file in files[package]],
            "relationships": [{"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b} for a, kind, b in relations]}
