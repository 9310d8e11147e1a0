#include "cli/jobs/rank_output.h"

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace muster::cli {
namespace {

constexpr char kPrefix[] = "[rank ";

}  // namespace

template <typename Visit>
void RankOutput::ForEachLog(Visit visit) {
  const auto pods = files_.List(pods_);
  if (!pods.ok()) return;  // no pod was started yet
  for (const DirectoryEntry& pod : *pods) {
    const std::string path = absl::StrCat(pods_, "/", pod.name, "/logs/agent.log");
    const auto info = files_.Stat(path);
    if (info.ok()) visit(path, info->size);
  }
}

RankOutput::RankOutput(Files& files, std::string pods) : files_(files), pods_(std::move(pods)) {
  ForEachLog([this](const std::string& path, uint64_t size) { logs_[path].offset = size; });
}

std::string RankOutput::TakeLines() {
  std::string lines;
  ForEachLog([this, &lines](const std::string& path, uint64_t size) {
    Read(path, size, logs_[path], lines);
  });
  return lines;
}

void RankOutput::Read(const std::string& path, uint64_t size, Log& log, std::string& lines) {
  if (size < log.offset) log = Log{};  // rotated, or of another pod with this name
  if (size == log.offset) return;
  const auto file = files_.Open(path);
  if (!file.ok()) return;
  std::string bytes(size - log.offset, '\0');
  if (!(*file)->Read(log.offset, bytes.data(), bytes.size()).ok()) return;
  log.offset = size;
  log.unfinished += bytes;
  size_t begin = 0;
  for (size_t end; (end = log.unfinished.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const std::string line = log.unfinished.substr(begin, end + 1 - begin);
    if (absl::StartsWith(line, kPrefix)) lines += line;
  }
  log.unfinished.erase(0, begin);
}

std::string WarningsAmong(const std::string& lines) {
  std::string warnings;
  for (const absl::string_view line : absl::StrSplit(lines, '\n')) {
    // Matches "[rank 0] TIME WARN text".
    const std::vector<absl::string_view> words = absl::StrSplit(line, absl::MaxSplits(' ', 4));
    if (words.size() == 5 && words[3] == "WARN") absl::StrAppend(&warnings, line, "\n");
  }
  return warnings;
}

}  // namespace muster::cli
