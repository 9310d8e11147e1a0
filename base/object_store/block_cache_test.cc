#include "base/object_store/block_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "base/mutex.h"

namespace muster {
namespace {

constexpr size_t kBlock = 10;

class BlockCacheTest : public testing::Test {
 protected:
  std::shared_ptr<BlockCache::File> FileOf(const std::string& text) {
    auto file = std::make_shared<BlockCache::File>();
    file->size = text.size();
    file->fetch = [this, text](uint64_t begin, uint64_t size) -> absl::StatusOr<std::string> {
      MutexLock lock(mu_);
      fetched_.push_back(begin / kBlock);
      arrived_.NotifyAll();
      if (failing_) return absl::UnavailableError("the store is down");
      return text.substr(begin, size);
    };
    return file;
  }
  absl::StatusOr<std::string> Read(const std::shared_ptr<BlockCache::File>& file, uint64_t offset,
                                   size_t size) {
    std::string into(size, '\0');
    const absl::Status read = cache_.Read(file, offset, into.data(), size);
    if (!read.ok()) return read;
    return into;
  }
  void WaitForFetches(size_t count) {
    MutexLock lock(mu_);
    while (fetched_.size() < count) arrived_.Wait(mu_);
  }
  size_t fetches() {
    MutexLock lock(mu_);
    return fetched_.size();
  }

  Mutex mu_;
  CondVar arrived_;
  std::vector<uint64_t> fetched_ MUSTER_GUARDED_BY(mu_);
  bool failing_ MUSTER_GUARDED_BY(mu_) = false;
  BlockCache cache_{{.block_bytes = kBlock, .most_blocks = 4, .threads = 2}};
  const std::string text_ = "0123456789abcdefghijABCDEFGHIJklmnopqrstKLMNOPQRST-----";
};

TEST_F(BlockCacheTest, AnyPartOfAFileIsReadAsItIs) {
  const auto file = FileOf(text_);
  for (size_t begin = 0; begin < text_.size(); ++begin) {
    for (size_t size = 0; begin + size <= text_.size(); ++size) {
      ASSERT_EQ(Read(file, begin, size).value(), text_.substr(begin, size)) << begin << " " << size;
    }
  }
}

TEST_F(BlockCacheTest, ReadsNearbyFetchABlockOnce) {
  const auto file = FileOf(text_);
  for (size_t at = 20; at < 30; ++at) ASSERT_TRUE(Read(file, at, 1).ok());
  EXPECT_EQ(fetches(), 1u);
}

TEST_F(BlockCacheTest, AReaderInOrderFindsTheNextBlocksFetched) {
  const auto file = FileOf(text_);
  ASSERT_TRUE(Read(file, 0, 10).ok());
  EXPECT_EQ(fetches(), 1u) << "one read is no order";
  ASSERT_TRUE(Read(file, 10, 1).ok());
  WaitForFetches(4);
  EXPECT_EQ(Read(file, 20, 20).value(), text_.substr(20, 20));
}

TEST_F(BlockCacheTest, AnErrorIsReturnedAndTheNextReadTriesAgain) {
  const auto file = FileOf(text_);
  {
    MutexLock lock(mu_);
    failing_ = true;
  }
  EXPECT_EQ(Read(file, 0, 5).status().code(), absl::StatusCode::kUnavailable);
  {
    MutexLock lock(mu_);
    failing_ = false;
  }
  EXPECT_EQ(Read(file, 0, 5).value(), "01234");
}

TEST_F(BlockCacheTest, AFileThatIsForgottenIsFetchedAnew) {
  const auto file = FileOf(text_);
  ASSERT_TRUE(Read(file, 0, 5).ok());
  cache_.Forget(*file);
  ASSERT_TRUE(Read(file, 0, 5).ok());
  EXPECT_EQ(fetches(), 2u);
}

TEST_F(BlockCacheTest, ReadersOfManyFilesAtOnceGetTheirOwnBytes) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::string mine = text_;
      mine[0] = static_cast<char>('0' + t);
      const auto file = FileOf(mine);
      for (int round = 0; round < 50; ++round) {
        for (size_t at = 0; at + 7 <= mine.size(); at += 7) {
          if (Read(file, at, 7).value_or("") != mine.substr(at, 7)) ++wrong;
        }
      }
      cache_.Forget(*file);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace muster
