#include "operator/core/ending/sources.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "google/protobuf/util/message_differencer.h"
#include "operator/core/state/conditions.h"
#include "operator/core/state/membership.h"
#include "operator/core/state/trajectory.h"
#include "proto/muster/v1alpha1/checkpoint_defaults.h"

namespace muster::control {
namespace {

using google::protobuf::util::MessageDifferencer;
using v1alpha1::TrainingJobSpec;

constexpr char kHowToContinue[] =
    "; put the old value back, or suspend the job, make the change, and resume the job";

std::string Changed(const char* field, const std::string& was, const std::string& is) {
  return absl::StrCat("spec.", field, " must not change while the job runs: it was \"", was,
                      "\" and is now \"", is, "\"; the job continues with the old value",
                      kHowToContinue);
}

// The keys of a store are those of new pods.
bool IsSameStore(const v1alpha1::S3Spec& was, const v1alpha1::S3Spec& is) {
  return was.endpoint() == is.endpoint() && v1alpha1::RegionOf(was) == v1alpha1::RegionOf(is);
}

// Returns a sentence about the first difference; empty if both have the same sources.
std::string Difference(const TrainingJobSpec& opened, const TrainingJobSpec& wanted) {
  const v1alpha1::DataSpec& was = opened.trainer().data();
  const v1alpha1::DataSpec& is = wanted.trainer().data();
  if (was.uri() != is.uri()) {
    return absl::StrCat(
        Changed("trainer.data.uri", was.uri(), is.uri()),
        "; its checkpoints are used only if the data at the new place are the same");
  }
  if (!MessageDifferencer::Equals(was, is)) {
    return absl::StrCat(Changed("trainer.data", was.ShortDebugString(), is.ShortDebugString()),
                        "; its checkpoints are used only if the data stay the same");
  }
  if (!IsSameStore(opened.checkpoint().s3(), wanted.checkpoint().s3())) {
    return absl::StrCat(Changed("checkpoint.s3", opened.checkpoint().s3().ShortDebugString(),
                                wanted.checkpoint().s3().ShortDebugString()),
                        "; it then continues from the checkpoints in the new store");
  }
  if (opened.checkpoint().uri() == wanted.checkpoint().uri()) return "";
  return absl::StrCat(
      Changed("checkpoint.uri", opened.checkpoint().uri(), wanted.checkpoint().uri()),
      "; it then continues from the checkpoints in the new directory");
}

TrainingJobSpec WithSources(const TrainingJobSpec& opened, TrainingJobSpec spec) {
  *spec.mutable_trainer()->mutable_data() = opened.trainer().data();
  if (!opened.has_checkpoint()) {
    spec.clear_checkpoint();
  } else if (!spec.has_checkpoint()) {
    *spec.mutable_checkpoint() = opened.checkpoint();
  } else {
    spec.mutable_checkpoint()->set_uri(opened.checkpoint().uri());
    spec.mutable_checkpoint()->clear_s3();
    if (opened.checkpoint().has_s3()) {
      *spec.mutable_checkpoint()->mutable_s3() = opened.checkpoint().s3();
    }
  }
  return spec;
}

// Returns true if ranks train in the round that the status names.
bool IsTraining(const JobView& view) {
  return view.status.round() > 0 &&
         std::any_of(view.agents.begin(), view.agents.end(), [&](const AgentView& agent) {
           return agent.active.round == view.status.round();
         });
}

}  // namespace

std::optional<RejectedChange> RejectSourceChange(const JobView& view, const RoundMemory& memory) {
  const TrainingJobSpec& wanted = view.spec;
  if (!wanted.has_trainer() || wanted.suspend() || view.job.deleting) return std::nullopt;
  if (IsFinished(view.status)) return std::nullopt;
  if (memory.spec != nullptr) {
    std::string sentence = Difference(*memory.spec, wanted);
    if (sentence.empty()) return std::nullopt;
    return RejectedChange{WithSources(*memory.spec, wanted), std::move(sentence)};
  }
  const std::string opened = SourcesOf(TrajectoryOf(view.status.membership()));
  if (opened.empty() || opened == SourcesOf(TrajectoryDigest(wanted))) return std::nullopt;
  if (!IsTraining(view)) return std::nullopt;
  return RejectedChange{std::nullopt,
                        absl::StrCat("spec.trainer.data or spec.checkpoint.uri has changed while "
                                     "the job runs: its ranks continue with the old value, and "
                                     "nothing new is started",
                                     kHowToContinue)};
}

}  // namespace muster::control
