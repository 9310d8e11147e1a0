#include "agent/replicas/replica_store.h"

#include <string>
#include <vector>

#include "agent/replicas/copy_fixture.h"
#include "base/testing/memory_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using v1alpha1::ReplicaPart;

class ReplicaStoreTest : public testing::Test {
 protected:
  ReplicaStoreTest() { store_.SetRoom(int64_t{1} << 20); }

  absl::Status Give(const std::vector<ReplicaPart>& parts) {
    size_t next = 0;
    return store_.Receive([&](ReplicaPart& part) {
      if (next == parts.size()) return false;
      part = parts[next++];
      return true;
    });
  }
  std::vector<ReplicaPart> Copy(int worker, int local_rank, int64_t step,
                                const std::string& bytes = "state") {
    const std::string folder = "/memory/of-" + std::to_string(++written_);
    return PartsOf(files_, WriteCopy(files_, folder, step, bytes), worker, local_rank);
  }
  std::vector<std::string> NamesOf(int worker) {
    std::vector<std::string> names;
    for (const ReplicaStore::Replica& replica : store_.Of(worker)) {
      names.push_back(std::to_string(replica.local_rank) + "/" + BaseName(replica.path));
      EXPECT_TRUE(Exists(files_, JoinPath(replica.path, "DONE"))) << replica.path;
    }
    return names;
  }

  MemoryFiles files_;
  int written_ = 0;
  int changes_ = 0;
  ReplicaStore store_{{.folder = "/memory/own", .job_uid = kJobUid, .own_index = 0},
                      files_,
                      [this] { ++changes_; }};
};

TEST_F(ReplicaStoreTest, KeepsTheTwoNewestOfEachRank) {
  for (const int64_t step : {10, 20, 30}) {
    for (const int rank : {0, 1}) ASSERT_TRUE(Give(Copy(2, rank, step)).ok());
  }
  EXPECT_THAT(NamesOf(2), ElementsAre("0/step-000000030", "1/step-000000030", "0/step-000000020",
                                      "1/step-000000020"));
  EXPECT_FALSE(Exists(files_, "/memory/own/replicas-2/rank-0/step-000000010"));
  EXPECT_THAT(store_.Workers(), ElementsAre(2));
  EXPECT_EQ(changes_, 1) << "the agent reports workers, not copies";
}

// A job that went back takes the same steps again.
TEST_F(ReplicaStoreTest, TheNewestAreThoseThatArrivedLast) {
  for (const int64_t step : {20, 30, 20}) ASSERT_TRUE(Give(Copy(2, 0, step)).ok());
  EXPECT_THAT(NamesOf(2), ElementsAre("0/step-000000020", "0/step-000000030"));
}

TEST_F(ReplicaStoreTest, AnotherWorkersCopyTakesThePlaceOfThoseKeptSoFar) {
  ASSERT_TRUE(Give(Copy(2, 0, 10)).ok());
  ASSERT_TRUE(Give(Copy(3, 0, 10)).ok());
  EXPECT_THAT(NamesOf(2), IsEmpty());
  EXPECT_THAT(store_.Workers(), ElementsAre(3));
  EXPECT_FALSE(Exists(files_, "/memory/own/replicas-2"));
}

TEST_F(ReplicaStoreTest, ACopyThatDoesNotFitIsRefusedInASentence) {
  store_.SetRoom(3000);
  ASSERT_TRUE(Give(Copy(2, 0, 10, std::string(2000, 'a'))).ok());
  const absl::Status refused = Give(Copy(2, 0, 20, std::string(2000, 'b')));
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("checkpoint.memory.size: of the half"));
  EXPECT_THAT(NamesOf(2), ElementsAre("0/step-000000010"));
}

TEST_F(ReplicaStoreTest, ACopyThatDoesNotFitRemovesNoneOfAnotherWorker) {
  store_.SetRoom(3000);
  ASSERT_TRUE(Give(Copy(2, 0, 10)).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(Give(Copy(3, 0, 10, std::string(4000, 'a')))));
  EXPECT_THAT(NamesOf(2), ElementsAre("0/step-000000010"));
}

TEST_F(ReplicaStoreTest, AStreamThatIsCutTakesNoRoomAfterwards) {
  const std::vector<ReplicaPart> whole = Copy(2, 0, 10, std::string(2000, 'a'));
  store_.SetRoom(whole[0].head().bytes());
  EXPECT_FALSE(Give({whole.begin(), whole.end() - 1}).ok());
  EXPECT_THAT(store_.Workers(), IsEmpty());
  EXPECT_TRUE(Give(whole).ok());
}

TEST_F(ReplicaStoreTest, OnlyOtherWorkersOfTheJobAreTaken) {
  const auto refused = [&](const std::function<void(v1alpha1::ReplicaHead&)>& change) {
    std::vector<ReplicaPart> parts = Copy(2, 0, 10);
    change(*parts[0].mutable_head());
    return absl::IsInvalidArgument(Give(parts));
  };
  EXPECT_TRUE(refused([](auto& head) { head.mutable_worker()->set_index(0); })) << "itself";
  EXPECT_TRUE(refused([](auto& head) { head.mutable_worker()->set_index(-1); }));
  EXPECT_TRUE(refused([](auto& head) { head.mutable_worker()->set_job_uid("other"); }));
  EXPECT_TRUE(refused([](auto& head) { head.set_local_rank(-1); }));
  EXPECT_TRUE(refused([](auto& head) { head.set_bytes(-5); }));
  std::vector<ReplicaPart> parts = Copy(2, 0, 10);
  parts.erase(parts.begin());
  EXPECT_TRUE(absl::IsInvalidArgument(Give(parts))) << "no head";
}

}  // namespace
}  // namespace muster::agent
