#include "base/object_store/block_cache.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/status_macros.h"

namespace muster {

struct BlockCache::Block {
  enum class State { kWaiting, kFetching, kReady, kFailed };

  std::shared_ptr<File> file;
  uint64_t index = 0;
  // The lock guards the state; the rest does not change once it is kReady or kFailed.
  State state = State::kWaiting;
  std::string bytes;
  absl::Status error;
};

BlockCache::~BlockCache() {
  std::vector<std::thread> threads;
  {
    MutexLock lock(mu_);
    stop_ = true;
    threads = std::move(threads_);
    changed_.NotifyAll();
  }
  for (std::thread& thread : threads) thread.join();
}

BlockCache::BlockPtr BlockCache::Find(const File& file, uint64_t index) {
  const auto found = std::find_if(blocks_.begin(), blocks_.end(), [&](const BlockPtr& block) {
    return block->file.get() == &file && block->index == index;
  });
  if (found == blocks_.end()) return nullptr;
  blocks_.splice(blocks_.begin(), blocks_, found);
  return blocks_.front();
}

BlockCache::BlockPtr BlockCache::Add(const std::shared_ptr<File>& file, uint64_t index) {
  auto block = std::make_shared<Block>();
  block->file = file;
  block->index = index;
  blocks_.push_front(block);
  Evict();
  return block;
}

// Blocks that are on their way stay.
void BlockCache::Evict() {
  for (auto it = blocks_.end(); blocks_.size() > options_.most_blocks && it != blocks_.begin();) {
    --it;
    if ((*it)->state == Block::State::kReady) it = blocks_.erase(it);
  }
}

void BlockCache::AddAhead(const std::shared_ptr<File>& file, uint64_t first, uint64_t last) {
  const uint64_t end = (file->size + options_.block_bytes - 1) / options_.block_bytes;
  for (uint64_t index = first; index <= last && index < end; ++index) {
    if (Find(*file, index) == nullptr) ahead_.push_back(Add(file, index));
  }
  while (!ahead_.empty() && threads_.size() < static_cast<size_t>(options_.threads)) {
    threads_.emplace_back([this] { Loop(); });
  }
  changed_.NotifyAll();
}

void BlockCache::FetchInto(const BlockPtr& block) {
  const uint64_t begin = block->index * options_.block_bytes;
  const uint64_t size = std::min<uint64_t>(options_.block_bytes, block->file->size - begin);
  absl::StatusOr<std::string> bytes = block->file->fetch(begin, size);
  if (bytes.ok() && bytes->size() != size) {
    bytes = absl::InternalError("a fetch returned another number of bytes than was asked for");
  }
  MutexLock lock(mu_);
  block->state = bytes.ok() ? Block::State::kReady : Block::State::kFailed;
  if (bytes.ok()) {
    block->bytes = *std::move(bytes);
  } else {
    block->error = bytes.status();
    blocks_.remove(block);
  }
  changed_.NotifyAll();
}

void BlockCache::Loop() {
  while (true) {
    BlockPtr block;
    {
      MutexLock lock(mu_);
      while (!stop_ && ahead_.empty()) changed_.Wait(mu_);
      if (stop_) return;
      block = std::move(ahead_.front());
      ahead_.pop_front();
      if (block->state != Block::State::kWaiting) continue;  // its reader was faster
      block->state = Block::State::kFetching;
    }
    FetchInto(block);
  }
}

// Returns the block, which is ready. `last_wanted` is the last block of the same read.
absl::StatusOr<BlockCache::BlockPtr> BlockCache::Get(const std::shared_ptr<File>& file,
                                                     uint64_t index, uint64_t last_wanted) {
  BlockPtr block;
  bool fetch = false;
  {
    MutexLock lock(mu_);
    block = Find(*file, index);
    if (block == nullptr) block = Add(file, index);
    fetch = block->state == Block::State::kWaiting;
    if (fetch) block->state = Block::State::kFetching;
    const bool in_order = index > 0 && file->next == index;
    const uint64_t most = index + static_cast<uint64_t>(options_.threads);
    AddAhead(file, index + 1, in_order ? most : std::min(most, last_wanted));
    file->next = index + 1;
  }
  if (fetch) FetchInto(block);
  MutexLock lock(mu_);
  while (block->state != Block::State::kReady && block->state != Block::State::kFailed) {
    changed_.Wait(mu_);
  }
  if (block->state == Block::State::kFailed) return block->error;
  return block;
}

absl::Status BlockCache::Read(const std::shared_ptr<File>& file, uint64_t offset, char* into,
                              size_t size) {
  const uint64_t last = (offset + std::max<size_t>(size, 1) - 1) / options_.block_bytes;
  while (size > 0) {
    const uint64_t index = offset / options_.block_bytes;
    MUSTER_ASSIGN_OR_RETURN(const BlockPtr block, Get(file, index, last));
    const uint64_t at = offset - index * options_.block_bytes;
    const size_t some = std::min<size_t>(size, block->bytes.size() - at);
    std::memcpy(into, block->bytes.data() + at, some);
    into += some;
    offset += some;
    size -= some;
  }
  return absl::OkStatus();
}

void BlockCache::Forget(const File& file) {
  MutexLock lock(mu_);
  const auto is_of = [&file](const BlockPtr& block) { return block->file.get() == &file; };
  std::erase_if(ahead_, is_of);
  blocks_.remove_if(is_of);
}

}  // namespace muster
