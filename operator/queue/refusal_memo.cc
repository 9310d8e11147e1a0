#include "operator/queue/refusal_memo.h"

#include "operator/queue/feasibility_key.h"

namespace muster::control {

RefusalMemo::Key RefusalMemo::KeyOf(const GangRequest& request, const Nodes& nodes) {
  return {nodes.get(), FeasibilityKey(request)};
}

const Unplaceable* RefusalMemo::Find(const GangRequest& request, const Nodes& nodes) const {
  if (refused_.empty()) return nullptr;
  const auto found = refused_.find(KeyOf(request, nodes));
  return found == refused_.end() ? nullptr : &found->second.answer;
}

void RefusalMemo::Add(const GangRequest& request, const Nodes& nodes, const Unplaceable& answer) {
  refused_[KeyOf(request, nodes)] = {nodes, answer};
}

std::vector<RefusalMemo::Entry> RefusalMemo::Entries() const {
  std::vector<Entry> entries;
  for (const auto& [key, refused] : refused_) {
    entries.push_back({refused.nodes, key.second, refused.answer});
  }
  return entries;
}

void RefusalMemo::Restore(const Entry& entry) {
  refused_[{entry.nodes.get(), entry.shape}] = {entry.nodes, entry.answer};
}

}  // namespace muster::control
