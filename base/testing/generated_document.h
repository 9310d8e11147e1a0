#ifndef MUSTER_BASE_TESTING_GENERATED_DOCUMENT_H_
#define MUSTER_BASE_TESTING_GENERATED_DOCUMENT_H_

#include <string>
#include <utility>
#include <vector>

namespace muster {

// A part of a document that is generated: it stands between the lines `<!-- NAME -->` and
// `<!-- end -->`.
using GeneratedPart = std::pair<std::string, std::string>;  // its name, its text

// Fails the running test for each part that `text`, the content of a document, lacks or has
// otherwise. Returns the document with all the parts that it has a place for.
std::string CheckParts(std::string text, const std::vector<GeneratedPart>& parts);

// CheckParts() of a file of the repository. Under `bazel run`, as tools/generate calls a test, the
// file is written instead and only a part without a place is a failure.
void CheckDocument(const std::string& path, const std::vector<GeneratedPart>& parts);

}  // namespace muster

#endif  // MUSTER_BASE_TESTING_GENERATED_DOCUMENT_H_
