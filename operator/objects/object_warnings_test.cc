#include "operator/objects/object_warnings.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/testing/manual_clock.h"
#include "operator/kube/memory/memory_api.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/queue_resources.h"
#include "operator/kube/resource_type.h"
#include "operator/objects/object_records.h"

namespace muster::control {
namespace {

class ObjectWarningsTest : public testing::Test {
 protected:
  void AddNode(const std::string& name, const std::string& gpus) {
    Json node = kube::NewObject(kube::kNodes, {"", name});
    node["status"]["allocatable"] = {{"cpu", "8"}, {"nvidia.com/gpu", gpus}};
    nodes_.Upsert(node, ++version_);
  }
  void AddJob(const std::string& name, const std::string& priority_class) {
    Json job = kube::NewObject(kube::kTrainingJobs, {"lab", name});
    job["metadata"]["uid"] = absl::StrCat("uid-of-", name);
    job["spec"] = {{"priorityClassName", priority_class}};
    jobs_.Upsert(job, ++version_);
  }
  void AddClass(const std::string& name, int value, bool is_default = false) {
    Json one = kube::NewObject(kube::kPriorityClasses, {"", name});
    one["value"] = value;
    one["globalDefault"] = is_default;
    classes_.Upsert(one, ++version_);
  }
  void SyncClasses() {
    classes_.BeginList();
    classes_.EndList(++version_);
  }
  std::vector<Json> Events() {
    const auto list = api_->List(kube::kEvents, {}, {});
    EXPECT_TRUE(list.ok()) << list.status();
    return list.ok() ? list->items : std::vector<Json>();
  }

  ManualClock clock_;
  std::unique_ptr<kube::MemoryApi> api_ = *kube::MemoryApi::Open(clock_, {});
  EventRecorder recorder_{*api_, clock_, "muster-operator"};
  JobCache jobs_{ParseTrainingJob};
  NodeCache nodes_{ParseNodeRecord};
  PriorityCache classes_{ParsePriorityClass};
  ObjectWarnings warnings_{recorder_, jobs_, nodes_, classes_};
  uint64_t version_ = 1;
};

TEST_F(ObjectWarningsTest, ANodeWhoseLabelsContradictOthersGetsOneEvent) {
  const std::vector<TopologyFinding> findings = {{"n1", "leaf l1 is under spine s2"},
                                                 {"n1", "zone a is in region r2"}};
  EXPECT_EQ(warnings_.RunOnce(findings), 1);
  EXPECT_EQ(warnings_.RunOnce(findings), 0);
  const std::vector<Json> events = Events();
  ASSERT_EQ(events.size(), 1u);
  const Json& event = events[0];
  EXPECT_EQ(event["metadata"]["namespace"], "default");
  EXPECT_EQ(event["involvedObject"],
            Json::parse(R"({"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "n1"})"));
  EXPECT_EQ(event["type"], "Warning");
  EXPECT_EQ(event["reason"], "TopologyContradiction");
  EXPECT_EQ(event["message"], "leaf l1 is under spine s2; zone a is in region r2");
  EXPECT_EQ(event["source"]["component"], "muster-operator");
}

TEST_F(ObjectWarningsTest, ARecurringWarningIsCountedInTheSameEvent) {
  const std::vector<TopologyFinding> findings = {{"n1", "leaf l1 is under spine s2"}};
  EXPECT_EQ(warnings_.RunOnce(findings), 1);
  EXPECT_EQ(warnings_.RunOnce({}), 0);
  EXPECT_EQ(warnings_.RunOnce(findings), 1);
  const std::vector<Json> events = Events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0]["count"], 2);
}

TEST_F(ObjectWarningsTest, ANodeThatIsSetAsideSaysWhy) {
  AddNode("good", "8");
  AddNode("liar", "-8");
  EXPECT_EQ(warnings_.RunOnce({}), 1);
  const std::vector<Json> events = Events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0]["involvedObject"]["name"], "liar");
  EXPECT_EQ(events[0]["reason"], "NodeFaulty");
  const std::string why = nodes_.Get({"", "liar"})->scheduling->complaint->sentence;
  EXPECT_EQ(events[0]["message"], "set aside, nothing is placed here: " + why);
}

TEST_F(ObjectWarningsTest, AMissingPriorityClassIsAnEventOfTheJob) {
  AddClass("normal", 10);
  AddJob("typo", "nromal");
  AddJob("fine", "normal");
  EXPECT_EQ(warnings_.RunOnce({}), 0) << "the classes are not known yet";
  SyncClasses();
  AddClass("normal", 10);
  EXPECT_EQ(warnings_.RunOnce({}), 1);
  std::vector<Json> events = Events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0]["metadata"]["namespace"], "lab");
  EXPECT_EQ(events[0]["involvedObject"]["kind"], "TrainingJob");
  EXPECT_EQ(events[0]["involvedObject"]["uid"], "uid-of-typo");
  EXPECT_EQ(events[0]["reason"], "NoSuchPriorityClass");
  EXPECT_EQ(events[0]["message"],
            "priorityClassName \"nromal\" does not exist; the default priority 0 is used");
  AddClass("usual", 7, /*is_default=*/true);
  EXPECT_EQ(MissingPriorityClass(classes_, "nromal"),
            "priorityClassName \"nromal\" does not exist; the default priority 7, of class "
            "\"usual\", is used");
  AddClass("nromal", 3);
  EXPECT_EQ(MissingPriorityClass(classes_, "nromal"), "");
  EXPECT_EQ(MissingPriorityClass(classes_, ""), "");
}

TEST_F(ObjectWarningsTest, ACallRecordsABoundedNumberOfEvents) {
  std::vector<TopologyFinding> findings;
  for (int i = 0; i < 120; ++i) findings.push_back({absl::StrCat("n", i), "apart"});
  EXPECT_EQ(warnings_.RunOnce(findings), 50);
  EXPECT_EQ(warnings_.RunOnce(findings), 50);
  EXPECT_EQ(warnings_.RunOnce(findings), 20);
  EXPECT_EQ(Events().size(), 120u);
}

}  // namespace
}  // namespace muster::control
