// Checks that docs/field-effects.md has a row for every field of a TrainingJob's spec.
#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "gtest/gtest.h"
#include "operator/api/schema.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::control {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using ::testing::ElementsAreArray;

// Returns the fields below `path` that hold a value; a pod template is one value.
void Collect(const Descriptor& message, const std::string& path, std::set<std::string>& fields) {
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    const std::string here = absl::StrCat(path, path.empty() ? "" : ".", field.json_name());
    const bool is_value = field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE;
    if (is_value || IsRaw(*field.message_type())) {
      fields.insert(here);
    } else {
      Collect(*field.message_type(), here, fields);
    }
  }
}

// Returns the first cell (the field) of each row whose second cell (the tests) is not empty.
std::vector<std::string> Documented() {
  std::ifstream file("docs/field-effects.md");
  EXPECT_TRUE(file.good());
  std::vector<std::string> fields;
  for (std::string line; std::getline(file, line);) {
    if (!absl::StartsWith(line, "| `")) continue;
    const std::vector<std::string> cells = absl::StrSplit(line, '|');
    if (cells.size() < 3 || absl::StripAsciiWhitespace(cells[2]).empty()) continue;
    const std::vector<std::string> name = absl::StrSplit(cells[1], '`');
    fields.push_back(name.size() > 1 ? name[1] : "");
  }
  return fields;
}

TEST(FieldEffects, EveryFieldOfTheSpecHasAnEffectOrARefusalThatATestShows) {
  std::set<std::string> fields;
  Collect(*v1alpha1::TrainingJobSpec::descriptor(), "", fields);
  EXPECT_GT(fields.size(), 60u);
  std::vector<std::string> documented = Documented();
  std::sort(documented.begin(), documented.end());
  EXPECT_THAT(documented, ElementsAreArray(fields));
}

}  // namespace
}  // namespace muster::control
