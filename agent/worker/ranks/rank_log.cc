#include "agent/worker/ranks/rank_log.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/logging.h"

namespace muster::agent {
namespace {

constexpr size_t kTailBytes = 8 << 10;
// Longer lines are shown in pieces.
constexpr size_t kMaxLine = 64 << 10;

}  // namespace

RankLog::RankLog(Options options, Files& files) : options_(std::move(options)), files_(files) {
  if (auto info = files_.Stat(options_.path); info.ok()) size_ = info->size;
}

void RankLog::Write(std::string_view bytes) {
  Keep(bytes);
  tail_.append(bytes);
  if (tail_.size() > 2 * kTailBytes) tail_.erase(0, tail_.size() - kTailBytes);
  line_.append(bytes);
  size_t begin = 0;
  for (size_t end; (end = line_.find('\n', begin)) != std::string::npos; begin = end + 1) {
    options_.show(prefix_ + line_.substr(begin, end - begin + 1));
  }
  line_.erase(0, begin);
  if (line_.size() > kMaxLine) EndOfProcess();
}

void RankLog::EndOfProcess() {
  if (!line_.empty()) options_.show(absl::StrCat(prefix_, line_, "\n"));
  line_.clear();
  if (tail_.size() > kTailBytes) tail_.erase(0, tail_.size() - kTailBytes);
}

void RankLog::Keep(std::string_view bytes) {
  if (options_.path.empty()) return;
  if (size_ > 0 && size_ + bytes.size() > options_.max_bytes) Rotate();
  if (file_ == nullptr) {
    auto file = files_.Create(options_.path, CreateMode::kAppend);
    if (!file.ok()) {
      MUSTER_LOG(WARN, "log not kept", {"error", file.status()});
      return;
    }
    file_ = *std::move(file);
  }
  if (absl::Status status = file_->Append(bytes); !status.ok()) {
    MUSTER_LOG(WARN, "log not kept", {"error", status});
    file_.reset();
    return;
  }
  size_ += bytes.size();
}

void RankLog::Rotate() {
  file_.reset();
  for (int i = options_.keep; i > 0; --i) {
    const std::string from = i == 1 ? options_.path : absl::StrCat(options_.path, ".", i - 1);
    // The first rotations have no old file to rename.
    files_.Rename(from, absl::StrCat(options_.path, ".", i)).IgnoreError();
  }
  if (options_.keep == 0) files_.Remove(options_.path).IgnoreError();
  size_ = 0;
}

}  // namespace muster::agent
