#include "trainer/commit/decide_save.h"

namespace muster::trainer {

SaveChoice DecideSave(const SaveFacts& facts) {
  if (facts.last || (facts.stops && facts.ordered)) return SaveChoice::kAtEnd;
  if (!facts.due && !facts.ordered) return SaveChoice::kNone;
  return facts.writing ? SaveChoice::kHeldBack : SaveChoice::kNow;
}

}  // namespace muster::trainer
