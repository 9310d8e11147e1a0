#include "operator/kube/memory/memory_api.h"

#include <atomic>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/testing/manual_clock.h"
#include "base/testing/memory_files.h"
#include "gtest/gtest.h"
#include "operator/kube/api_error.h"
#include "operator/kube/memory/wal_format.h"

// Tests of MemoryApi's own features: its options, clock and directory. The conformance suite covers
// the rest.
namespace muster::kube {
namespace {

// Makes the directories above `path` durable, as on a real machine.
void MakeParents(Files& files, const std::string& path) {
  ASSERT_TRUE(files.MakeDirectories(ParentPath(path)).ok());
  for (std::string at = ParentPath(path); at != ParentPath(at); at = ParentPath(at)) {
    ASSERT_TRUE(files.SyncDirectory(ParentPath(at)).ok());
  }
}

class MemoryApiTest : public testing::Test {
 protected:
  void SetUp() override {
    const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
    directory_ = absl::StrCat(testing::TempDir(), "/memory-", test->name());
    std::filesystem::remove_all(directory_);
    options_.random = [this] { return random_(); };
    options_.wal.files = &files_;
  }
  void TearDown() override {
    api_.reset();
    std::filesystem::remove_all(directory_);
  }

  void Open() {
    api_.reset();
    auto opened = MemoryApi::Open(clock_, options_);
    ASSERT_TRUE(opened.ok()) << opened.status();
    api_ = *std::move(opened);
  }
  Json ConfigMap(const std::string& name, const std::string& value = "v") {
    Json object = NewObject(kConfigMaps, {"ns", name});
    object["data"] = {{"key", value}};
    return object;
  }
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    const ObjectList list = *api_->List(kConfigMaps, {});
    for (const Json& item : list.items) names.push_back(NameOf(item));
    return names;
  }

  ManualClock clock_;
  std::mt19937_64 random_{3};
  MemoryFiles files_;
  MemoryApiOptions options_;
  std::string directory_;
  std::unique_ptr<MemoryApi> api_;
};

using Strings = std::vector<std::string>;

TEST_F(MemoryApiTest, ATypeThatIsNotServedIsNotFound) {
  Open();
  const ResourceType other{"example.com", "v1", "things", "Thing"};
  EXPECT_EQ(ReasonOf(api_->Get(other, {"ns", "a"}).status()), Reason::kNotFound);
}

TEST_F(MemoryApiTest, ACallWithoutTimeIsATimeout) {
  Open();
  const CallOptions none{.timeout = absl::ZeroDuration()};
  EXPECT_EQ(ReasonOf(api_->Create(kConfigMaps, ConfigMap("a"), none).status()), Reason::kTimeout);
}

TEST_F(MemoryApiTest, AdmissionDefaultsAndRefuses) {
  options_.resources =
      ResourcesWith(kTrainingJobs, [](Operation operation, Json& object, const Json* old_object) {
        EXPECT_EQ(operation == Operation::kCreate, old_object == nullptr);
        if (!object.contains("spec")) return ApiError(Reason::kInvalid, "spec: Required value");
        if (!object["spec"].contains("queue")) object["spec"]["queue"] = "default";
        return absl::OkStatus();
      });
  Open();
  Json job = NewObject(kTrainingJobs, {"ns", "a"});
  const absl::Status refused = api_->Create(kTrainingJobs, job).status();
  EXPECT_EQ(ReasonOf(refused), Reason::kInvalid);
  EXPECT_EQ(refused.message(), "spec: Required value");
  job["spec"] = Json::object();
  const Json made = *api_->Create(kTrainingJobs, job);
  EXPECT_EQ(StringAt(made, {"spec", "queue"}), "default");
  // Sending the same object again, without the default, changes nothing.
  job["metadata"]["resourceVersion"] = ResourceVersionOf(made);
  EXPECT_EQ(ResourceVersionOf(*api_->Update(kTrainingJobs, job)), ResourceVersionOf(made));
}

TEST_F(MemoryApiTest, TheServerEndsAWatchAfterItsTime) {
  Open();
  auto watcher = *api_->Watch(kConfigMaps, {.server_timeout = absl::Minutes(5)});
  clock_.Advance(absl::Minutes(5));
  EXPECT_EQ(ReasonOf(watcher->Next(absl::ZeroDuration()).status()), Reason::kWatchClosed);
  EXPECT_FALSE(watcher->Next(absl::ZeroDuration()).ok());
}

TEST_F(MemoryApiTest, AWatcherThatFallsBehindHistoryIsExpired) {
  options_.history_limit = 4;
  Open();
  auto watcher = *api_->Watch(kConfigMaps, {});
  for (int i = 0; i < 6; ++i) {
    ASSERT_TRUE(api_->Create(kConfigMaps, ConfigMap(absl::StrCat("a", i))).ok());
  }
  EXPECT_EQ(ReasonOf(watcher->Next(absl::ZeroDuration()).status()), Reason::kExpired);
}

TEST_F(MemoryApiTest, WritesOfOtherTypesDoNotExpireAQuietWatch) {
  options_.history_limit = 4;
  Open();
  auto watcher = *api_->Watch(kPods, {});
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(api_->Create(kConfigMaps, ConfigMap(absl::StrCat("a", i))).ok());
  }
  EXPECT_TRUE(watcher->Next(absl::ZeroDuration()).ok());
}

TEST_F(MemoryApiTest, AVersionFromTheFutureIsATimeout) {
  Open();
  EXPECT_EQ(ReasonOf(api_->Watch(kPods, {.resource_version = "999999999"}).status()),
            Reason::kTimeout);
}

TEST_F(MemoryApiTest, NextWakesForAnEventOfAnotherThread) {
  Open();
  auto watcher = *api_->Watch(kConfigMaps, {});
  std::thread writer([&] { ASSERT_TRUE(api_->Create(kConfigMaps, ConfigMap("a")).ok()); });
  const auto event = watcher->Next(absl::Minutes(1));
  writer.join();
  ASSERT_TRUE(event.ok() && event->has_value());
  EXPECT_EQ(NameOf((*event)->object), "a");
}

TEST_F(MemoryApiTest, ConcurrentWritersNeverLoseAnUpdate) {
  Open();
  ASSERT_TRUE(api_->Create(kConfigMaps, ConfigMap("counter", "0")).ok());
  constexpr int kThreads = 4;
  constexpr int kAdds = 50;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int done = 0; done < kAdds;) {
        Json object = *api_->Get(kConfigMaps, {"ns", "counter"});
        object["data"]["key"] = absl::StrCat(std::stoi(StringAt(object, {"data", "key"})) + 1);
        if (api_->Update(kConfigMaps, object).ok()) ++done;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(StringAt(*api_->Get(kConfigMaps, {"ns", "counter"}), {"data", "key"}),
            absl::StrCat(kThreads * kAdds));
}

TEST_F(MemoryApiTest, UidsAreOfVersionFourAndDistinct) {
  Open();
  const std::string a = UidOf(*api_->Create(kConfigMaps, ConfigMap("a")));
  const std::string b = UidOf(*api_->Create(kConfigMaps, ConfigMap("b")));
  EXPECT_NE(a, b);
  EXPECT_EQ(a[14], '4');
  EXPECT_EQ(a.size(), 36u);
}

TEST_F(MemoryApiTest, AnObjectIsRecreatedInOneWriteAndWhatItOwnedIsCollected) {
  options_.directory = directory_;
  Open();
  Json old = NewObject(kTrainingJobs, {"ns", "a"});
  SetFinalizers(old, {"muster.dev/workers"});
  old = *api_->Create(kTrainingJobs, old);
  Json owned = ConfigMap("owned");
  SetOwners(owned, {{"muster.dev/v1alpha1", "TrainingJob", "a", UidOf(old), true, true}});
  ASSERT_TRUE(api_->Create(kConfigMaps, owned).ok());
  auto watcher = *api_->Watch(kTrainingJobs, {.resource_version = ResourceVersionOf(old)});

  Json fresh = NewObject(kTrainingJobs, {"ns", "a"});
  fresh["status"] = {{"state", "Pending"}};
  const Json made = *api_->Recreate(kTrainingJobs, fresh, {UidOf(old), ResourceVersionOf(old)});
  EXPECT_NE(UidOf(made), UidOf(old));
  EXPECT_EQ(StringAt(made, {"status", "state"}), "Pending");
  EXPECT_TRUE(Names().empty()) << "the old object's dependent is left";
  const auto gone = *watcher->Next(absl::ZeroDuration());
  const auto came = *watcher->Next(absl::ZeroDuration());
  ASSERT_TRUE(gone.has_value() && came.has_value());
  EXPECT_EQ(gone->type, WatchEvent::Type::kDeleted);
  EXPECT_EQ(UidOf(gone->object), UidOf(old));
  EXPECT_EQ(came->type, WatchEvent::Type::kAdded);
  EXPECT_EQ(UidOf(came->object), UidOf(made));
  EXPECT_EQ(ReasonOf(api_->Recreate(kTrainingJobs, fresh, {UidOf(old), ""}).status()),
            Reason::kConflict);
  watcher.reset();
  Open();
  EXPECT_EQ(*api_->Get(kTrainingJobs, {"ns", "a"}), made);
}

TEST_F(MemoryApiTest, TheDirectoryKeepsObjectsUidsAndVersions) {
  options_.directory = directory_;
  Open();
  const Json a = *api_->Create(kConfigMaps, ConfigMap("a"));
  ASSERT_TRUE(api_->Create(kConfigMaps, ConfigMap("b")).ok());
  ASSERT_TRUE(api_->Delete(kConfigMaps, {"ns", "b"}).ok());
  const std::string version = api_->List(kConfigMaps, {})->resource_version;
  Open();
  EXPECT_EQ(*api_->Get(kConfigMaps, {"ns", "a"}), a);
  EXPECT_EQ(Names(), (Strings{"a"}));
  EXPECT_EQ(api_->List(kConfigMaps, {})->resource_version, version);
  EXPECT_TRUE(api_->Watch(kConfigMaps, {.resource_version = version}).ok());
  EXPECT_EQ(ReasonOf(api_->Watch(kConfigMaps, {.resource_version = ResourceVersionOf(a)}).status()),
            Reason::kExpired);
  const Json c = *api_->Create(kConfigMaps, ConfigMap("c"));
  EXPECT_GT(*ParseResourceVersion(ResourceVersionOf(c)), *ParseResourceVersion(version));
}

TEST_F(MemoryApiTest, ATornTailLosesOnlyTheTornWriteAndNoVersionIsGivenOutTwice) {
  options_.directory = directory_;
  Open();
  ASSERT_TRUE(api_->Create(kConfigMaps, ConfigMap("a")).ok());
  const Json b = *api_->Create(kConfigMaps, ConfigMap("b"));
  const std::string log = directory_ + "/log";
  const std::string bytes = *ReadFile(files_, log);
  ASSERT_TRUE(files_.Overwrite(log, bytes.substr(0, bytes.size() - 1)).ok());
  Open();
  EXPECT_GT(api_->dropped_bytes(), 0);
  EXPECT_EQ(Names(), (Strings{"a"}));
  const Json c = *api_->Create(kConfigMaps, ConfigMap("c"));
  EXPECT_GT(*ParseResourceVersion(ResourceVersionOf(c)),
            *ParseResourceVersion(ResourceVersionOf(b)));
  Open();
  EXPECT_EQ(api_->dropped_bytes(), 0);
  EXPECT_EQ(Names(), (Strings{"a", "c"}));
}

TEST_F(MemoryApiTest, AWriteThatCannotBeKeptDidNotHappen) {
  options_.directory = directory_;
  Open();
  ASSERT_TRUE(api_->Create(kConfigMaps, ConfigMap("a")).ok());
  files_.SetCapacity(1);
  const absl::Status refused = api_->Create(kConfigMaps, ConfigMap("b")).status();
  EXPECT_EQ(ReasonOf(refused), Reason::kServiceUnavailable);
  EXPECT_EQ(Names(), (Strings{"a"}));
  files_.SetCapacity(1 << 20);
  EXPECT_TRUE(api_->Create(kConfigMaps, ConfigMap("c")).ok());
  Open();
  EXPECT_EQ(Names(), (Strings{"a", "c"}));
}

// Every write that was answered OK survives a death of the process at any moment.
TEST_F(MemoryApiTest, DyingAtAnyFileOperationKeepsWhatWasAnswered) {
  options_.directory = directory_;
  options_.wal.sync_every_write = true;
  options_.wal.compact_bytes = 500;
  for (int at = 0; at < 60; ++at) {
    MemoryFiles files;
    options_.wal.files = &files;
    MakeParents(files, directory_);
    std::filesystem::remove_all(directory_);
    Open();
    files.KillAfter(at);
    Strings answered;
    for (int i = 0; i < 9; ++i) {
      const std::string name = absl::StrCat("a", i);
      if (api_->Create(kConfigMaps, ConfigMap(name)).ok()) answered.push_back(name);
    }
    files.Crash();
    Open();
    const Strings found = Names();
    ASSERT_GE(found.size(), answered.size()) << at;
    EXPECT_LE(found.size(), answered.size() + 1) << at;
    for (size_t i = 0; i < answered.size(); ++i) EXPECT_EQ(found[i], answered[i]) << at;
    api_.reset();
  }
}

TEST_F(MemoryApiTest, GarbageLeftByADeathIsCollectedOnOpening) {
  options_.directory = directory_;
  Open();
  const Json owner = *api_->Create(kConfigMaps, ConfigMap("owner"));
  Json dependent = ConfigMap("dependent");
  SetOwners(dependent, {ControllerReferenceTo(kConfigMaps, owner)});
  ASSERT_TRUE(api_->Create(kConfigMaps, dependent).ok());
  const std::string before = *ReadFile(files_, directory_ + "/log");
  ASSERT_TRUE(api_->Delete(kConfigMaps, {"ns", "owner"}).ok());
  const std::string after = *ReadFile(files_, directory_ + "/log");
  // Only the first record of the deletion survives.
  WalReader reader(std::string_view(after).substr(before.size()));
  ASSERT_TRUE(reader.Next().has_value());
  const size_t cut = before.size() + reader.good_bytes();
  ASSERT_LT(cut, after.size());
  api_.reset();
  ASSERT_TRUE(files_.Overwrite(directory_ + "/log", after.substr(0, cut)).ok());
  Open();
  EXPECT_EQ(Names(), Strings{});
}

TEST_F(MemoryApiTest, ReadOnlySeesTheStateAndRefusesWrites) {
  options_.directory = directory_;
  Open();
  ASSERT_TRUE(api_->Create(kConfigMaps, ConfigMap("a")).ok());
  auto reader = MemoryApi::OpenReadOnly(clock_, options_);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ((*reader)->List(kConfigMaps, {})->items.size(), 1u);
  EXPECT_EQ(ReasonOf((*reader)->Create(kConfigMaps, ConfigMap("b")).status()), Reason::kForbidden);
  EXPECT_EQ(ReasonOf((*reader)->Delete(kConfigMaps, {"ns", "a"})), Reason::kForbidden);
}

TEST_F(MemoryApiTest, AStateOfANewerFormatIsRefused) {
  options_.directory = directory_;
  ASSERT_TRUE(files_.MakeDirectories(directory_).ok());
  ASSERT_TRUE(WriteFileAtomically(files_, directory_ + "/snapshot",
                                  EncodeWalRecord(R"({"format":2,"v":5,"n":0})"))
                  .ok());
  const auto opened = MemoryApi::Open(clock_, options_);
  EXPECT_EQ(opened.status().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace muster::kube
