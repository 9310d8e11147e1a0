#include "operator/api/redact.h"

#include "gtest/gtest.h"

namespace muster::control {
namespace {

Json Parsed(const char* text) { return *ParseJson(text); }

TEST(RedactTest, ValuesOfAllContainersAreHiddenAndNamesAndReferencesStay) {
  Json job = Parsed(R"({"spec": {"workers": {"count": 1}, "template": {"spec": {
      "initContainers": [{"name": "i", "env": [{"name": "A", "value": "s3cret"}]}],
      "containers": [{"name": "worker", "image": "x", "env": [
        {"name": "B", "value": "s3cret"},
        {"name": "C", "valueFrom": {"secretKeyRef": {"name": "k", "key": "v"}}}]}]}}}})");
  RedactEnvironment(job);
  const Json shown = Parsed(R"json({"spec": {"workers": {"count": 1}, "template": {"spec": {
      "initContainers": [{"name": "i", "env": [{"name": "A", "value": "(redacted)"}]}],
      "containers": [{"name": "worker", "image": "x", "env": [
        {"name": "B", "value": "(redacted)"},
        {"name": "C", "valueFrom": {"secretKeyRef": {"name": "k", "key": "v"}}}]}]}}}})json");
  EXPECT_EQ(job, shown);
}

TEST(RedactTest, AValueThatIsNotAJobIsLeftAlone) {
  for (const char* text : {"{}", "[]", R"({"spec": 1})", R"({"spec": {"template": "env"}})",
                           R"({"spec": {"template": {"env": 7}}})"}) {
    Json json = Parsed(text);
    RedactEnvironment(json);
    EXPECT_EQ(json, Parsed(text));
  }
}

}  // namespace
}  // namespace muster::control
