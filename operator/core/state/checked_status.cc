#include "operator/core/state/checked_status.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace muster::control {

std::string DescribeMissingFields(const v1alpha1::TrainingJobStatus& written,
                                  const v1alpha1::TrainingJobStatus& stored) {
  std::vector<std::string> lost;
  if (written.term() != stored.term()) lost.push_back("status.term");
  if (written.round() != stored.round()) lost.push_back("status.round");
  if (written.membership() != stored.membership()) lost.push_back("status.membership");
  if (!std::equal(written.incarnations().begin(), written.incarnations().end(),
                  stored.incarnations().begin(), stored.incarnations().end())) {
    lost.push_back("status.incarnations");
  }
  if (written.workers().ended() != stored.workers().ended()) lost.push_back("status.workers.ended");
  if (written.workers().told_to_stop() != stored.workers().told_to_stop()) {
    lost.push_back("status.workers.toldToStop");
  }
  if (written.checkpoint().step() != stored.checkpoint().step() ||
      written.checkpoint().history() != stored.checkpoint().history() ||
      written.checkpoint().attempt() != stored.checkpoint().attempt()) {
    lost.push_back("status.checkpoint");
  }
  if (lost.empty()) return "";
  return absl::StrCat("the API server did not store ", absl::StrJoin(lost, ", "),
                      ": is the CustomResourceDefinition on the server older than "
                      "this operator? apply deploy/crd/muster.dev_trainingjobs.yaml");
}

v1alpha1::TrainingJobStatus DurablePart(const v1alpha1::TrainingJobStatus& status) {
  v1alpha1::TrainingJobStatus part;
  part.set_term(status.term());
  part.set_round(status.round());
  part.set_membership(status.membership());
  *part.mutable_incarnations() = status.incarnations();
  if (status.workers().has_ended()) part.mutable_workers()->set_ended(status.workers().ended());
  if (status.workers().has_told_to_stop()) {
    part.mutable_workers()->set_told_to_stop(status.workers().told_to_stop());
  }
  if (status.has_checkpoint()) *part.mutable_checkpoint() = status.checkpoint();
  return part;
}

}  // namespace muster::control
