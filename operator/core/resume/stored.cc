#include "operator/core/resume/stored.h"

#include "absl/strings/str_cat.h"
#include "base/checkpoint/checkpoint_history.h"

namespace muster::control {

using v1alpha1::CheckpointRef;
using v1alpha1::RankPosition;

std::string Stored::Entry::history() const { return std::string(HistoryName(ref.history())); }

Stored::Stored(absl::Span<const RankPosition> positions, const std::set<std::string>& bad) {
  for (size_t rank = 0; rank < positions.size(); ++rank) {
    const RankPosition& position = positions[rank];
    if (listing_error_.empty() && !position.listing_error().empty()) {
      listing_error_ = absl::StrCat("rank ", rank, ": ", position.listing_error());
    }
    for (const CheckpointRef& ref : position.checkpoints()) {
      Entry& entry = entries_[{ref.version().attempt(), ref.version().step(), ref.directory(),
                               std::string(HistoryName(ref.history()))}];
      if (entry.ranks++ == 0) entry.ref = ref;
      if (entry.mismatch.empty()) entry.mismatch = ref.mismatch();
    }
  }
  for (auto& [key, entry] : entries_) {
    entry.common = entry.ranks >= positions.size();
    entry.bad = bad.count(entry.ref.directory()) > 0;
    entry.ref.clear_mismatch();
  }
}

}  // namespace muster::control
