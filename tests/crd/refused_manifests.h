#ifndef MUSTER_TESTS_CRD_REFUSED_MANIFESTS_H_
#define MUSTER_TESTS_CRD_REFUSED_MANIFESTS_H_

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testenv/test_cluster.h"

// What the tests of the definitions share: manifests, one file each, whose first line says
// "# refused: SENTENCE", the sentence expected of the API server.
namespace muster::tests {

std::string ReadText(const std::string& path);

// The folder's YAML files, by name, with absolute paths.
std::vector<std::string> Manifests(const std::string& folder);

// Expects that the server refused the manifest with the sentence on its first line.
void ExpectRefused(const CommandResult& answer, const std::string& manifest);

// A file's name as a test's.
std::string Stem(const testing::TestParamInfo<std::string>& info);

}  // namespace muster::tests

#endif  // MUSTER_TESTS_CRD_REFUSED_MANIFESTS_H_
