#ifndef MUSTER_TESTS_BENCH_STREAM_STREAM_WORLD_H_
#define MUSTER_TESTS_BENCH_STREAM_STREAM_WORLD_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "operator/app/operator_app.h"
#include "operator/kube/api.h"
#include "operator/kube/memory/memory_api.h"
#include "operator/placement/inventory.h"
#include "operator/queue/book/queue_spec.h"
#include "operator/queue/book/queued_job.h"

namespace muster::control {

// Runs the operator in this process as muster-operator does, over an embedded API server or a real
// one, with nodes that exist as objects only. Not thread-safe.
class StreamWorld {
 public:
  static constexpr char kNamespace[] = "stream";

  // `remote` is the client of a real API server and must outlive this object; null: an embedded
  // server.
  static absl::StatusOr<std::unique_ptr<StreamWorld>> Start(kube::Api* remote,
                                                            const Inventory& inventory,
                                                            const std::vector<QueueSpec>& queues);
  ~StreamWorld();

  kube::Api& api() { return *api_; }
  OperatorApp& app() { return *app_; }

  // The node label that holds a level of the inventory.
  static std::string LabelOf(const std::string& level);
  // A TrainingJob that runs a command, with the request, queue and topology of `job`.
  static Json JobObject(const QueuedJob& job);

  // Stops the operator.
  void Stop();

 private:
  StreamWorld() = default;
  absl::Status MakeNodes(const Inventory& inventory);
  absl::Status MakeQueues(const std::vector<QueueSpec>& queues);

  std::unique_ptr<kube::MemoryApi> memory_;
  kube::Api* api_ = nullptr;
  std::string folder_;
  std::unique_ptr<OperatorApp> app_;
};

}  // namespace muster::control

#endif  // MUSTER_TESTS_BENCH_STREAM_STREAM_WORLD_H_
