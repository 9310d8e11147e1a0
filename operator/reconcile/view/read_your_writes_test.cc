#include "operator/reconcile/view/read_your_writes.h"

#include <cstdint>
#include <memory>

#include "gtest/gtest.h"
#include "operator/kube/object_meta.h"

namespace muster::control {
namespace {

constexpr uint64_t kNever = UINT64_MAX;

// A cache of one job, whose newest version arrives right after the read of that number (from 1 on).
class ArrivingJob {
 public:
  ArrivingJob(uint64_t version, uint64_t next, uint64_t after_read)
      : version_(version), next_(next), after_read_(after_read) {}

  uint64_t LatestVersion() const { return Read(); }
  std::shared_ptr<const uint64_t> Get(const kube::ObjectKey&) const {
    return std::make_shared<const uint64_t>(Read());
  }

 private:
  uint64_t Read() const {
    const uint64_t version = version_;
    if (++reads_ == after_read_) version_ = next_;
    return version;
  }

  mutable uint64_t version_;
  const uint64_t next_;
  const uint64_t after_read_;
  mutable uint64_t reads_ = 0;
};

struct Pods {
  uint64_t version;
  uint64_t LatestVersion() const { return version; }
};

const kube::ObjectKey kKey{"default", "job"};

// The job must not be read before the versions: a write of the controller that arrived just then
// would seem lost, and be reported as StatusNotStored.
TEST(ReadYourWritesTest, AnEventBetweenTwoReadsNeverMakesAWriteLookLost) {
  for (const uint64_t after_read : {uint64_t{1}, uint64_t{2}, uint64_t{3}, kNever}) {
    const auto read = ReadFresh(ArrivingJob(5, 7, after_read), Pods{9}, kKey, 7, 9);
    EXPECT_TRUE(read.behind || *read.job >= 7) << "it arrives after read " << after_read;
  }
}

TEST(ReadYourWritesTest, BehindUntilBothCachesHaveWhatWasWritten) {
  const ArrivingJob job(7, 7, kNever);
  EXPECT_FALSE(ReadFresh(job, Pods{9}, kKey, 7, 9).behind);
  EXPECT_FALSE(ReadFresh(job, Pods{9}, kKey, 0, 0).behind) << "nothing was written";
  EXPECT_TRUE(ReadFresh(job, Pods{9}, kKey, 8, 9).behind);
  EXPECT_TRUE(ReadFresh(job, Pods{9}, kKey, 7, 10).behind);
}

}  // namespace
}  // namespace muster::control
