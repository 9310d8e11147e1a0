#ifndef MUSTER_OPERATOR_API_TUNE_REQUEST_H_
#define MUSTER_OPERATOR_API_TUNE_REQUEST_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/json.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

// A change of a job while it trains, as commands and the HTTP API ask for it. Pure.
namespace muster::control {

struct TuneRequest {
  // These two become an item of spec.trainer.tunings, which needs no new round.
  std::optional<double> learning_rate;
  std::optional<double> clip_norm;
  std::optional<int64_t> from_step;  // absent: the next step that all ranks can begin with
  // This one is spec.trainer.train.globalBatch, which opens a new round.
  std::optional<int64_t> global_batch;
  std::string by;  // the person or program that asks
};

// Convert to and from an object with the fields learningRate, clipNorm, fromStep, globalBatch and
// by. Reading refuses other fields and types with InvalidArgument.
Json ToJson(const TuneRequest& request);
absl::StatusOr<TuneRequest> ParseTuneRequest(const Json& json);

// Changes the spec of a running job as asked. Returns the place of the new item in
// spec.trainer.tunings; nullopt without one. InvalidArgument, with the spec unchanged, for
// values that a manifest could not have and for a job that another program trains;
// FailedPrecondition if the list is full, or if an earlier change waits for a later step.
absl::StatusOr<std::optional<int>> Tune(const TuneRequest& request,
                                        const v1alpha1::TrainingJobStatus& status,
                                        v1alpha1::TrainingJobSpec& spec);

// Returns "learning rate 0.0001, clip norm 0.5 from step 1201 on"; the global batch is in a
// sentence of its own.
std::string DescribeRequest(const TuneRequest& request);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_API_TUNE_REQUEST_H_
