#ifndef MUSTER_TESTS_CRD_REFUSED_MANIFESTS_H_
#define MUSTER_TESTS_CRD_REFUSED_MANIFESTS_H_

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testenv/test_cluster.h"

// Helpers for the tests of the CustomResourceDefinitions. Each refused manifest is a file whose
// first line is "# refused: SENTENCE", the message expected of the API server.
namespace muster::tests {

std::string ReadText(const std::string& path);

// Absolute paths of the folder's YAML files, sorted by name.
std::vector<std::string> Manifests(const std::string& folder);

// Expects that the server refused the manifest with the message on its first line.
void ExpectRefused(const CommandResult& answer, const std::string& manifest);

// Turns the name of a manifest into the name of its test.
std::string TestNameOf(const testing::TestParamInfo<std::string>& info);

}  // namespace muster::tests

#endif  // MUSTER_TESTS_CRD_REFUSED_MANIFESTS_H_
