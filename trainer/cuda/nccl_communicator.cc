#include "trainer/cuda/nccl_communicator.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "trainer/comm/finished.h"
#include "trainer/comm/operation.h"
#include "trainer/cuda/nccl_parts.h"

namespace muster::trainer::cuda {
namespace {

absl::StatusOr<ncclDataType_t> ToNccl(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return ncclFloat32;
    case at::kDouble:
      return ncclFloat64;
    case at::kBFloat16:
      return ncclBfloat16;
    case at::kHalf:
      return ncclFloat16;
    case at::kLong:
      return ncclInt64;
    case at::kInt:
      return ncclInt32;
    case at::kByte:
    case at::kBool:
      return ncclUint8;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("NCCL moves no elements of type ", c10::toString(type)));
  }
}

ncclRedOp_t ToNccl(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return ncclSum;
    case ReduceOp::kMax:
      return ncclMax;
    case ReduceOp::kMin:
      return ncclMin;
  }
  return ncclSum;
}

size_t CountOf(const at::Tensor& tensor) { return static_cast<size_t>(tensor.numel()); }

char* BytesOf(const at::Tensor& tensor) { return static_cast<char*>(tensor.data_ptr()); }

// An operation from its issue to the end of its wait.
struct Operation {
  int64_t sequence = 0;
  Fingerprint fingerprint;
  std::vector<at::Tensor> tensors;
  NcclGroup::Call call;
  // Set once the operation is on the stream.
  std::shared_ptr<QueueMark> mark;
  // The number of a message that is compared before it counts as received, or -1.
  int64_t checked_message = -1;
};

// The part that the operations of a communicator share. It outlives the communicator.
class Issuer {
 public:
  explicit Issuer(NcclParts parts) : parts_(std::move(parts)) {}

  NcclGroup& group() { return *parts_.group; }
  const NcclApi& api() { return parts_.group->api(); }
  const NcclParts& parts() const { return parts_; }
  OperationCheck* check() { return parts_.check.get(); }

  void AddMessage(std::shared_ptr<Operation> message) { messages_.push_back(std::move(message)); }

  // Starts the messages that were collected, as one group of NCCL's.
  absl::Status StartMessages() {
    if (messages_.empty()) return absl::OkStatus();
    const std::vector<std::shared_ptr<Operation>> messages = std::exchange(messages_, {});
    MUSTER_ASSIGN_OR_RETURN(const std::shared_ptr<QueueMark> mark,
                            group().Enqueue([&](ncclComm_t comm, cudaStream_t stream) {
                              ncclResult_t result = api().group_start();
                              for (const auto& message : messages) {
                                if (result == ncclSuccess) result = message->call(comm, stream);
                              }
                              const ncclResult_t ended = api().group_end();
                              return result == ncclSuccess ? ended : result;
                            }));
    for (const auto& message : messages) message->mark = mark;
    return absl::OkStatus();
  }

  absl::Status Wait(Operation& operation) {
    absl::Status status = StartMessages();
    if (status.ok() && operation.checked_message >= 0) {
      status =
          check()->Received(operation.sequence, operation.fingerprint, operation.checked_message);
    }
    if (status.ok() && operation.mark == nullptr) status = group().failure();
    if (status.ok()) status = Named(operation, group().Await(*operation.mark));
    if (!status.ok()) {
      status = group().Fail(status);
      group().Abandon(std::move(operation.tensors));
    }
    if (status.ok()) {
      group().record().Completed(operation.sequence);
    } else {
      group().record().Failed(operation.sequence);
    }
    operation.tensors.clear();
    return status;
  }

 private:
  static absl::Status Named(const Operation& operation, const absl::Status& status) {
    if (status.ok()) return status;
    return absl::Status(status.code(),
                        absl::StrCat("operation #", operation.sequence, " ",
                                     operation.fingerprint.ToString(), ": ", status.message()));
  }

  const NcclParts parts_;
  std::vector<std::shared_ptr<Operation>> messages_;
};

class NcclPending final : public Pending {
 public:
  NcclPending(std::shared_ptr<Issuer> issuer, std::shared_ptr<Operation> operation)
      : issuer_(std::move(issuer)), operation_(std::move(operation)) {}
  ~NcclPending() override {
    if (operation_ == nullptr || issuer_->group().failure().ok()) return;
    issuer_->group().record().Failed(operation_->sequence);
    issuer_->group().Abandon(std::move(operation_->tensors));
  }

  absl::Status Wait() override {
    if (operation_ == nullptr) return result_;
    result_ = issuer_->Wait(*operation_);
    operation_.reset();
    return result_;
  }

 private:
  const std::shared_ptr<Issuer> issuer_;
  std::shared_ptr<Operation> operation_;  // null once Wait() has returned
  absl::Status result_;
};

class NcclCommunicator final : public Communicator {
 public:
  explicit NcclCommunicator(NcclParts parts)
      : issuer_(std::make_shared<Issuer>(std::move(parts))) {}

  int rank() const override { return issuer_->parts().rank; }
  int size() const override { return issuer_->parts().size; }

  std::unique_ptr<Pending> AllReduce(at::Tensor tensor, ReduceOp op,
                                     std::string_view label) override {
    return Collective(FingerprintOf(OperationKind::kAllReduce, tensor, label, op), {tensor},
                      [=, api = &issuer_->api()](ncclDataType_t type) -> NcclGroup::Call {
                        return [=](ncclComm_t comm, cudaStream_t stream) {
                          return api->all_reduce(BytesOf(tensor), BytesOf(tensor), CountOf(tensor),
                                                 type, ToNccl(op), comm, stream);
                        };
                      });
  }

  std::unique_ptr<Pending> ReduceScatter(at::Tensor output, at::Tensor input, ReduceOp op,
                                         std::string_view label) override {
    return Collective(
        FingerprintOf(OperationKind::kReduceScatter, input, label, op), {output, input},
        [=, api = &issuer_->api()](ncclDataType_t type) -> NcclGroup::Call {
          return [=](ncclComm_t comm, cudaStream_t stream) {
            return api->reduce_scatter(BytesOf(input), BytesOf(output), CountOf(output), type,
                                       ToNccl(op), comm, stream);
          };
        });
  }

  std::unique_ptr<Pending> AllGather(at::Tensor output, at::Tensor input,
                                     std::string_view label) override {
    return Collective(FingerprintOf(OperationKind::kAllGather, input, label), {output, input},
                      [=, api = &issuer_->api()](ncclDataType_t type) -> NcclGroup::Call {
                        return [=](ncclComm_t comm, cudaStream_t stream) {
                          return api->all_gather(BytesOf(input), BytesOf(output), CountOf(input),
                                                 type, comm, stream);
                        };
                      });
  }

  std::unique_ptr<Pending> AllToAllV(at::Tensor output, std::vector<int64_t> output_counts,
                                     at::Tensor input, std::vector<int64_t> input_counts,
                                     std::string_view label) override {
    return Collective(FingerprintOf(OperationKind::kAllToAllV, input, label), {output, input},
                      [=, api = &issuer_->api()](ncclDataType_t type) -> NcclGroup::Call {
                        return [=](ncclComm_t comm, cudaStream_t stream) {
                          return Exchange(*api, output, output_counts, input, input_counts, type,
                                          comm, stream);
                        };
                      });
  }

  std::unique_ptr<Pending> Broadcast(at::Tensor tensor, int root, std::string_view label) override {
    return Collective(FingerprintOf(OperationKind::kBroadcast, tensor, label, ReduceOp::kSum, root),
                      {tensor}, [=, api = &issuer_->api()](ncclDataType_t type) -> NcclGroup::Call {
                        return [=](ncclComm_t comm, cudaStream_t stream) {
                          return api->broadcast(BytesOf(tensor), BytesOf(tensor), CountOf(tensor),
                                                type, root, comm, stream);
                        };
                      });
  }

  std::unique_ptr<Pending> Send(at::Tensor tensor, int to, std::string_view label) override {
    return Message(FingerprintOf(OperationKind::kSend, tensor, label, ReduceOp::kSum, to), tensor);
  }
  std::unique_ptr<Pending> Recv(at::Tensor tensor, int from, std::string_view label) override {
    return Message(FingerprintOf(OperationKind::kRecv, tensor, label, ReduceOp::kSum, from),
                   tensor);
  }

  std::unique_ptr<Pending> Barrier() override {
    return Collective(
        {}, {issuer_->parts().barrier}, [this](ncclDataType_t type) -> NcclGroup::Call {
          const at::Tensor one = issuer_->parts().barrier;
          return [=, api = &issuer_->api()](ncclComm_t comm, cudaStream_t stream) {
            return api->all_reduce(BytesOf(one), BytesOf(one), 1, type, ncclSum, comm, stream);
          };
        });
  }

  bool is_a_queue() const override { return true; }
  void StartMessages() override {
    const absl::Status started = issuer_->StartMessages();
    if (!started.ok()) (void)issuer_->group().Fail(started);
  }

  void Abort(std::string_view why) override {
    const absl::Status failure = issuer_->group().Fail(absl::AbortedError(std::string(why)));
    if (absl::IsAborted(failure) && issuer_->check() != nullptr) issuer_->check()->Abort();
  }
  std::string DumpFlightRecord() const override { return issuer_->group().record().Dump(); }

 private:
  using MakeCall = std::function<NcclGroup::Call(ncclDataType_t)>;

  static ncclResult_t Exchange(const NcclApi& api, const at::Tensor& output,
                               const std::vector<int64_t>& output_counts, const at::Tensor& input,
                               const std::vector<int64_t>& input_counts, ncclDataType_t type,
                               ncclComm_t comm, cudaStream_t stream) {
    ncclResult_t result = api.group_start();
    const auto bytes = static_cast<int64_t>(input.element_size());
    int64_t sent = 0, received = 0;
    for (size_t r = 0; r < input_counts.size(); ++r) {
      const auto peer = static_cast<int>(r);
      if (input_counts[r] > 0 && result == ncclSuccess) {
        result = api.send(BytesOf(input) + sent * bytes, static_cast<size_t>(input_counts[r]), type,
                          peer, comm, stream);
      }
      if (output_counts[r] > 0 && result == ncclSuccess) {
        result = api.recv(BytesOf(output) + received * bytes, static_cast<size_t>(output_counts[r]),
                          type, peer, comm, stream);
      }
      sent += input_counts[r];
      received += output_counts[r];
    }
    const ncclResult_t ended = api.group_end();
    return result == ncclSuccess ? ended : result;
  }

  std::unique_ptr<Pending> Collective(Fingerprint fingerprint, std::vector<at::Tensor> tensors,
                                      const MakeCall& make) {
    if (absl::Status failure = issuer_->group().failure(); !failure.ok()) {
      return std::make_unique<Finished>(failure);
    }
    auto operation = Record(std::move(fingerprint), std::move(tensors));
    const absl::Status started = Start(*operation, make);
    if (!started.ok()) return Failed(*operation, started);
    if (operation->mark == nullptr) {
      issuer_->group().record().Completed(operation->sequence);
      return std::make_unique<Finished>(absl::OkStatus());
    }
    return std::make_unique<NcclPending>(issuer_, std::move(operation));
  }

  std::shared_ptr<Operation> Record(Fingerprint fingerprint, std::vector<at::Tensor> tensors) {
    auto operation = std::make_shared<Operation>();
    operation->sequence = issuer_->group().record().Issued(fingerprint);
    operation->fingerprint = std::move(fingerprint);
    operation->tensors = std::move(tensors);
    return operation;
  }

  // The operation may have begun on the device.
  std::unique_ptr<Pending> Failed(Operation& operation, const absl::Status& status) {
    issuer_->group().record().Failed(operation.sequence);
    const absl::Status failure = issuer_->group().Fail(status);
    issuer_->group().Abandon(std::move(operation.tensors));
    return std::make_unique<Finished>(failure);
  }

  // Leaves out what moves nothing: only of an exchange may one rank's part be empty.
  absl::Status Start(Operation& operation, const MakeCall& make) {
    MUSTER_RETURN_IF_ERROR(issuer_->StartMessages());
    if (issuer_->check() != nullptr) {
      MUSTER_RETURN_IF_ERROR(
          issuer_->check()->Collective(operation.sequence, operation.fingerprint));
    }
    const at::Tensor& last = operation.tensors.back();
    if (last.numel() == 0 && operation.fingerprint.kind != OperationKind::kAllToAllV) {
      return absl::OkStatus();
    }
    MUSTER_ASSIGN_OR_RETURN(const ncclDataType_t type, ToNccl(last.scalar_type()));
    MUSTER_ASSIGN_OR_RETURN(operation.mark, issuer_->group().Enqueue(make(type)));
    return absl::OkStatus();
  }

  std::unique_ptr<Pending> Message(Fingerprint fingerprint, const at::Tensor& tensor) {
    if (absl::Status failure = issuer_->group().failure(); !failure.ok()) {
      return std::make_unique<Finished>(failure);
    }
    auto operation = Record(std::move(fingerprint), {tensor});
    const bool sends = operation->fingerprint.kind == OperationKind::kSend;
    const int peer = operation->fingerprint.peer;
    if (peer == rank() || peer < 0 || peer >= size()) {
      return Failed(*operation, absl::InvalidArgumentError(absl::StrCat(
                                    "no such peer: ", operation->fingerprint.ToString())));
    }
    const absl::StatusOr<ncclDataType_t> type = ToNccl(tensor.scalar_type());
    if (!type.ok()) return Failed(*operation, type.status());
    if (issuer_->check() != nullptr && !sends) {
      operation->checked_message = issuer_->check()->NumberOf(operation->fingerprint);
    }
    if (issuer_->check() != nullptr && sends) {
      const absl::Status told = issuer_->check()->Sent(operation->fingerprint);
      if (!told.ok()) return Failed(*operation, told);
    }
    operation->call = [tensor, sends, peer, type = *type, api = &issuer_->api()](
                          ncclComm_t comm, cudaStream_t stream) {
      return sends ? api->send(BytesOf(tensor), CountOf(tensor), type, peer, comm, stream)
                   : api->recv(BytesOf(tensor), CountOf(tensor), type, peer, comm, stream);
    };
    issuer_->AddMessage(operation);
    return std::make_unique<NcclPending>(issuer_, std::move(operation));
  }

  const std::shared_ptr<Issuer> issuer_;
};

}  // namespace

std::unique_ptr<Communicator> MakeNcclCommunicator(NcclParts parts) {
  return std::make_unique<NcclCommunicator>(std::move(parts));
}

}  // namespace muster::trainer::cuda
