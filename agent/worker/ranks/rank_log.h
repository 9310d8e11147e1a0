#ifndef MUSTER_AGENT_WORKER_RANKS_RANK_LOG_H_
#define MUSTER_AGENT_WORKER_RANKS_RANK_LOG_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "base/files/files.h"

namespace muster::agent {

// The stdout and stderr of one local rank's processes: kept in `path` (renamed to path.1, path.2
// when it reaches max_bytes; older ones are removed), passed to `show` line by line with a prefix,
// and its end kept as evidence. A full disk loses log lines but never stops the rank. Not
// thread-safe.
class RankLog {
 public:
  struct Options {
    std::string path;
    size_t max_bytes = size_t{16} << 20;
    int keep = 2;  // rotated files
    // Receives whole lines, newline included.
    std::function<void(std::string_view)> show;
  };

  RankLog(Options options, Files& files);

  // The prefix of every line from now on, e.g. "[rank 3] ".
  void SetPrefix(std::string prefix) { prefix_ = std::move(prefix); }
  void Write(std::string_view bytes);
  // Called when the process has ended: shows a last line that lacks its newline.
  void EndOfProcess();
  // The last 8 KiB since the previous BeginProcess.
  const std::string& tail() const { return tail_; }
  void BeginProcess() { tail_.clear(); }

 private:
  void Keep(std::string_view bytes);
  void Rotate();

  const Options options_;
  Files& files_;
  std::unique_ptr<WritableFile> file_;
  size_t size_ = 0;
  std::string prefix_;
  std::string line_;  // incomplete line
  std::string tail_;
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_WORKER_RANKS_RANK_LOG_H_
