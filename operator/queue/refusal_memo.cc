#include "operator/queue/refusal_memo.h"

#include "absl/strings/str_cat.h"

namespace muster::control {

RefusalMemo::Key RefusalMemo::KeyOf(const GangRequest& request, const Nodes& nodes) {
  const Resources& each = request.per_worker;
  std::string shape = absl::StrCat(each.gpus, " ", each.cpu_millis, " ", each.memory_bytes, " ",
                                   each.slots, " ", request.required_level);
  for (const Slice& slice : request.slices) {
    absl::StrAppend(&shape, "\n", slice.size, " ", slice.level);
  }
  return {nodes.get(), std::move(shape)};
}

const Unplaceable* RefusalMemo::Find(const GangRequest& request, const Nodes& nodes) const {
  if (refused_.empty()) return nullptr;
  const auto found = refused_.find(KeyOf(request, nodes));
  if (found == refused_.end() || request.min < found->second.min) return nullptr;
  // Of an invalid request nothing is said about another size.
  const bool invalid = found->second.answer.reason == UnplaceableReason::kInvalidRequest;
  return invalid && request.min != found->second.min ? nullptr : &found->second.answer;
}

void RefusalMemo::Add(const GangRequest& request, const Nodes& nodes, const Unplaceable& answer) {
  refused_[KeyOf(request, nodes)] = {nodes, request.min, answer};
}

std::vector<RefusalMemo::Entry> RefusalMemo::Entries() const {
  std::vector<Entry> entries;
  for (const auto& [key, refused] : refused_) {
    entries.push_back({refused.nodes, key.second, refused.min, refused.answer});
  }
  return entries;
}

void RefusalMemo::Restore(const Entry& entry) {
  refused_[{entry.nodes.get(), entry.shape}] = {entry.nodes, entry.min, entry.answer};
}

}  // namespace muster::control
