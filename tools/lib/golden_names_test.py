#!/usr/bin/python3
"""Tests that a changed name is found in every kind, and that a moved file, a comment or a test changes nothing."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).absolute().parent))
import golden_documents  # noqa: E402
import golden_list  # noqa: E402
import golden_names  # noqa: E402

SOURCE = r'''
// A comment says "CommentWord" and {"comment", 1}.
#include "folder/header.h"
namespace house {
enum ExitCode : int { kExitOrphaned = 75 };
constexpr char kLabel[] = "muster.dev/job";
constexpr char kFile[] = "manifest.json";
const char* Name(Reason reason) { return "RankFailed"; }
Json Page(const Json& job) {
  Json page = {{"phase", job.phase}, {"node", job.node}};
  page["agents"] = 'a' + 10'000;
  page["spec"]["token"] = Get("/api/v1/jobs", "MUSTER_LOG_DIR", "pod-uid", "sinceStep");
  MUSTER_LOG(INFO, "rank ended", {"rank", rank}, {"how", "set $MUSTER_STATE_DIR"});
  MUSTER_LOG_LIMITED(WARN, "about it", "it is "
                     "late", {"error", status});
  return page;
}
}  // namespace house
'''
CRD = '''# Generated from proto/x.proto by tools/generate.
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: things.muster.dev
spec:
  names:
    kind: Thing
    shortNames:
    - th
  versions:
  - additionalPrinterColumns:
    - jsonPath: ".status.state"
      name: State
    name: v1alpha1
    schema:
      openAPIV3Schema:
        properties:
          spec:
            properties:
              rules:
                items:
                  properties:
                    action:
                      default: Ignore
                      enum:
                      - Ignore
                      - FailJob
                      type: string
                  required:
                  - action
                  type: object
                type: array
              mode:
                type: string
'''
PROTO = "package house.v1;\nservice Door {\n  rpc Open(Key) returns (Room);\n}\n"
DOCUMENT = "| request | parameters |\n|---|---|\n| `GET /livez` | `verbose` | Lives. |\n"


class Tree(unittest.TestCase):
    def names(self, source=SOURCE, crd=CRD, proto=PROTO, document=DOCUMENT, folder="product"):
        home = tempfile.TemporaryDirectory()
        self.addCleanup(home.cleanup)
        root = pathlib.Path(home.name)
        build = 'cc_library(name = "a", srcs = ["a.cc"])\ncc_test(name = "b_test", srcs = ["b_test.cc"])\n'
        texts = {"BUILD.bazel": build, "a.cc": source, "b_test.cc": 'const char* kOnly = "OnlyOfTests";',
                 "crd.yaml": crd, "a.proto": proto, "a.md": document}
        (root / folder).mkdir()
        for name, text in texts.items():
            (root / folder / name).write_text(text)
        files = [pathlib.Path(folder) / name for name in texts]
        return golden_names.product_names(root, files) | golden_documents.document_names(root, files)

    def test_every_changed_name_is_missing_and_new(self):
        before = self.names()
        changes = {
            "source": ["75", "muster.dev/job", "manifest.json", "RankFailed", '"phase"', '"agents"', '"token"', "/api/v1/jobs",
                       "MUSTER_LOG_DIR", "pod-uid", "sinceStep", "rank ended", '"rank"', '"how"', "MUSTER_STATE_DIR", "late", '"error"'],
            "crd": ["things.muster.dev", "th\n", "State\n", "v1alpha1", "rules", "action:", "Ignore\n                      -", "mode"],
            "proto": ["house.v1", "Door", "Open"],
            "document": ["/livez", "verbose"],
        }
        texts = {"source": SOURCE, "crd": CRD, "proto": PROTO, "document": DOCUMENT}
        for which, names in changes.items():
            for name in names:
                letter = next(c for c in name if c.isalnum())
                changed = texts[which].replace(name, name.replace(letter, "9" if letter == "7" else "Q" if letter.isupper() else "q", 1))
                said = golden_list.differences(before, self.names(**{which: changed}))
                self.assertTrue(any(s.endswith("no longer there") for s in said), name)
                self.assertTrue(any(s.endswith("is new and not listed") for s in said), name)

    def test_a_moved_file_changes_nothing(self):
        self.assertEqual(self.names(), self.names(folder="elsewhere"))

    def test_comments_includes_and_tests_hold_no_names(self):
        said = golden_list.render(self.names())
        for word in ("CommentWord", "comment", "header.h", "OnlyOfTests"):
            self.assertNotIn(word, said)

    def test_fields_and_log_lines_are_told_with_what_they_belong_to(self):
        names = self.names()
        self.assertEqual(names[golden_names.LOG_LINES], {"rank ended: rank how", "it is late: error"})
        self.assertEqual(names[golden_names.OBJECTS], {"phase node"})
        self.assertEqual(names[golden_names.ASSIGNED], {"agents spec.token"})
        self.assertIn("Thing.spec.rules[].action", names[golden_documents.FIELDS])
        self.assertIn("Thing.spec.mode", names[golden_documents.FIELDS])
        self.assertEqual(names[golden_documents.VALUES],
                         {"Thing.spec.rules[].action = Ignore", "Thing.spec.rules[].action = FailJob"})

    def test_a_list_is_read_as_it_was_written(self):
        kinds = {"one": {"a b", "line\nend", "; odd", "## odd"}, "two": set()}
        self.assertEqual(golden_list.parse(golden_list.render(kinds)), kinds)

    def test_a_kind_that_nothing_looks_for_is_told(self):
        self.assertEqual(golden_list.leftover({"old": set(), "kept": set()}, ["kept"]), ["old: no check looks for this kind"])


unittest.main()
