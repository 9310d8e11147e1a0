#include "trainer/process/memory_check.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/byte_text.h"

namespace muster::trainer {
namespace {

constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max();

// Returns the file's text, or "" if it cannot be read. Reads to the end, because the kernel reports
// a size of zero for its files.
std::string ReadKernelFile(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Reads a control group's file that holds one number; kUnknown for "max" or no such file.
int64_t ReadNumber(const char* path) {
  int64_t value = 0;
  return absl::SimpleAtoi(ReadKernelFile(path), &value) ? value : kUnknown;
}

// Names every part, so that they add up to the whole.
std::string PartsOf(const planner::MemoryEstimate& estimate) {
  const struct {
    int64_t bytes;
    const char* what;
  } kParts[] = {
      {estimate.parameters + estimate.casts, "weights"},
      {estimate.gradients, "gradients"},
      {estimate.optimizer, "optimizer state"},
      {estimate.update, "the optimizer's update"},
      {estimate.activations, "activations"},
      {estimate.logits, "logits"},
      {estimate.checkpoint_copy, "the copy of a checkpoint"},
      {estimate.fixed, "the program"},
  };
  std::vector<std::string> parts;
  for (const auto& part : kParts) {
    if (part.bytes > 0) parts.push_back(absl::StrCat(ByteText(part.bytes), " for ", part.what));
  }
  if (parts.size() < 2) return absl::StrJoin(parts, "");
  const std::string last = std::move(parts.back());
  parts.pop_back();
  return absl::StrCat(absl::StrJoin(parts, ", "), " and ", last);
}

std::string Proposal(const planner::MemoryEstimate& estimate, int ranks, int64_t available,
                     const std::vector<MemoryOption>& options) {
  constexpr char kOtherwise[] = "use a smaller model, microBatch or sequence";
  const MemoryOption* least = nullptr;
  for (const MemoryOption& option : options) {
    const int64_t need = option.estimate.Total() * ranks;
    if (need <= available) {
      return absl::StrCat(option.change, " would need ", ByteText(need), " in all; or ",
                          kOtherwise);
    }
    if (option.estimate.Total() >= estimate.Total()) continue;
    if (least == nullptr || option.estimate.Total() < least->estimate.Total()) least = &option;
  }
  if (least == nullptr) return kOtherwise;
  return absl::StrCat(kOtherwise, "; ", least->change, " would still need ",
                      ByteText(least->estimate.Total() * ranks), " in all");
}

}  // namespace

int64_t ReadMeminfo(std::string_view text, std::string_view key) {
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos || line.substr(0, colon) != key) continue;
    const size_t digits = line.find_first_of("0123456789", colon);
    if (digits == std::string_view::npos) return -1;
    const std::string_view number = line.substr(digits, line.find(' ', digits) - digits);
    int64_t kib = 0;
    if (!absl::SimpleAtoi(absl::string_view(number.data(), number.size()), &kib)) return -1;
    return kib * 1024;
  }
  return -1;
}

int64_t AvailableMemory() {
  int64_t available = kUnknown;
  const int64_t free = ReadMeminfo(ReadKernelFile("/proc/meminfo"), "MemAvailable");
  if (free >= 0) available = free;
  const int64_t limit = ReadNumber("/sys/fs/cgroup/memory.max");
  const int64_t used = ReadNumber("/sys/fs/cgroup/memory.current");
  if (limit != kUnknown && used != kUnknown) {
    available = std::min(available, std::max<int64_t>(0, limit - used));
  }
  return available;
}

absl::Status CheckMemory(const planner::MemoryEstimate& estimate, int ranks, int64_t available,
                         std::string_view where, const std::vector<MemoryOption>& options) {
  const int64_t need = estimate.Total() * ranks;
  if (need <= available) return absl::OkStatus();
  // The operator passes on 512 bytes of it.
  const bool alike = ByteText(need) == ByteText(available);
  const auto text = [alike](int64_t bytes) {
    return alike ? absl::StrCat(bytes, " bytes") : ByteText(bytes);
  };
  return absl::ResourceExhaustedError(
      absl::StrCat("not enough memory for the model: ", text(need), " are needed by ", ranks,
                   ranks == 1 ? " rank" : " ranks", " and ", text(available), " are available ",
                   std::string(where), "; each rank needs ", PartsOf(estimate), ": ",
                   Proposal(estimate, ranks, available, options)));
}

absl::Status CheckRound(int shards, int usual, absl::FunctionRef<absl::Status(int among)> check) {
  if (shards >= usual) return absl::OkStatus();
  const absl::Status fits = check(shards);
  if (!absl::IsResourceExhausted(fits)) return fits;
  return absl::ResourceExhaustedError(
      absl::StrCat("this round divides the state among ", shards, shards == 1 ? " rank" : " ranks",
                   ", a round of all workers among ", usual, ": ", fits.message(),
                   ", or raise workers.min, so that the job waits for more workers"));
}

}  // namespace muster::trainer
