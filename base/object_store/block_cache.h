#ifndef MUSTER_BASE_OBJECT_STORE_BLOCK_CACHE_H_
#define MUSTER_BASE_OBJECT_STORE_BLOCK_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"

namespace muster {

// Reads remote files in blocks, keeps the latest blocks in memory, and prefetches several at a time
// for a reader that goes through a file in order. Thread-safe; a read waits for its blocks.
class BlockCache {
 public:
  struct Options {
    size_t block_bytes = size_t{4} << 20;
    size_t most_blocks = 16;  // in memory, over all files
    int threads = 3;          // fetch ahead; started when the first is needed
  };
  // Returns the bytes of a part of a file. Called from several threads at once.
  using Fetch = std::function<absl::StatusOr<std::string>(uint64_t begin, uint64_t size)>;
  struct File {
    uint64_t size = 0;
    Fetch fetch;
    uint64_t next = 0;  // the cache's own: the block after the last one read
  };

  explicit BlockCache(Options options) : options_(options) {}
  ~BlockCache();

  // Reads a part of the file; it must lie within the file. Returns the first error of a fetch; a
  // later read fetches again.
  absl::Status Read(const std::shared_ptr<File>& file, uint64_t offset, char* into, size_t size);
  // Drops the file's blocks. The file must not be read any more.
  void Forget(const File& file);

 private:
  struct Block;
  using BlockPtr = std::shared_ptr<Block>;

  BlockPtr Find(const File& file, uint64_t index) MUSTER_REQUIRES(mu_);
  BlockPtr Add(const std::shared_ptr<File>& file, uint64_t index) MUSTER_REQUIRES(mu_);
  void AddAhead(const std::shared_ptr<File>& file, uint64_t first, uint64_t last)
      MUSTER_REQUIRES(mu_);
  void Evict() MUSTER_REQUIRES(mu_);
  absl::StatusOr<BlockPtr> Get(const std::shared_ptr<File>& file, uint64_t index,
                               uint64_t last_wanted);
  void FetchInto(const BlockPtr& block);
  void Loop();

  const Options options_;
  Mutex mu_;
  CondVar changed_;
  std::list<BlockPtr> blocks_ MUSTER_GUARDED_BY(mu_);  // the most recently used comes first
  std::deque<BlockPtr> ahead_ MUSTER_GUARDED_BY(mu_);
  bool stop_ MUSTER_GUARDED_BY(mu_) = false;
  std::vector<std::thread> threads_ MUSTER_GUARDED_BY(mu_);
};

}  // namespace muster

#endif  // MUSTER_BASE_OBJECT_STORE_BLOCK_CACHE_H_
