// Receives a copy from any stream of parts: no crash, nothing is left of a copy that is not whole,
// and a whole one is a complete checkpoint in the one place that its head named.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "agent/replicas/copy_parts.h"
#include "base/checkpoint/checkpoint_listing.h"
#include "base/files/files.h"
#include "base/testing/memory_files.h"
#include "proto/muster/v1alpha1/replica.pb.h"

namespace {

constexpr char kFolder[] = "/memory/rank-0";

void Check(bool holds) {
  if (!holds) std::abort();
}

// Splits the input into parts: two bytes of length, then a message.
std::vector<muster::v1alpha1::ReplicaPart> PartsOf(const uint8_t* data, size_t size) {
  std::vector<muster::v1alpha1::ReplicaPart> parts;
  for (size_t at = 0; at + 2 <= size;) {
    const size_t length = data[at] | size_t{data[at + 1]} << 8;
    at += 2;
    if (length > size - at) break;
    if (!parts.emplace_back().ParseFromArray(data + at, static_cast<int>(length))) parts.pop_back();
    at += length;
  }
  return parts;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::vector<muster::v1alpha1::ReplicaPart> parts = PartsOf(data, size);
  if (parts.empty()) return 0;
  muster::MemoryFiles files;
  Check(files.MakeDirectories(kFolder).ok());
  bool complete = false;
  {
    const auto receiver =
        muster::agent::CopyReceiver::Begin(files, "uid", parts[0].head(), kFolder);
    for (size_t i = 1; receiver.ok() && i < parts.size(); ++i) {
      if (!(*receiver)->Take(parts[i]).ok()) break;
    }
    complete = receiver.ok() && (*receiver)->complete();
  }
  const auto left = files.List(kFolder);
  Check(left.ok() && left->size() == (complete ? 1 : 0));
  Check(files.List("/memory")->size() == 1 && files.List("/")->size() == 1);
  if (!complete) return 0;
  Check(left->front().name == parts[0].head().directory());
  Check(muster::InspectCheckpoint(files, muster::JoinPath(kFolder, left->front().name)).complete);
  return 0;
}
