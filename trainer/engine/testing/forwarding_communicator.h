#ifndef MUSTER_TRAINER_ENGINE_TESTING_FORWARDING_COMMUNICATOR_H_
#define MUSTER_TRAINER_ENGINE_TESTING_FORWARDING_COMMUNICATOR_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trainer/comm/communicator.h"

namespace muster::trainer {

// Passes every operation on to another communicator, which must outlive this. Tests override what
// they watch or disturb.
class ForwardingCommunicator : public Communicator {
 public:
  explicit ForwardingCommunicator(Communicator& inner) : inner_(inner) {}

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  std::unique_ptr<Pending> AllReduce(at::Tensor tensor, ReduceOp op,
                                     std::string_view label) override {
    return inner_.AllReduce(std::move(tensor), op, label);
  }
  std::unique_ptr<Pending> ReduceScatter(at::Tensor output, at::Tensor input, ReduceOp op,
                                         std::string_view label) override {
    return inner_.ReduceScatter(std::move(output), std::move(input), op, label);
  }
  std::unique_ptr<Pending> AllGather(at::Tensor output, at::Tensor input,
                                     std::string_view label) override {
    return inner_.AllGather(std::move(output), std::move(input), label);
  }
  std::unique_ptr<Pending> AllToAllV(at::Tensor output, std::vector<int64_t> output_counts,
                                     at::Tensor input, std::vector<int64_t> input_counts,
                                     std::string_view label) override {
    return inner_.AllToAllV(std::move(output), std::move(output_counts), std::move(input),
                            std::move(input_counts), label);
  }
  std::unique_ptr<Pending> Broadcast(at::Tensor tensor, int root, std::string_view label) override {
    return inner_.Broadcast(std::move(tensor), root, label);
  }
  std::unique_ptr<Pending> Send(at::Tensor tensor, int to, std::string_view label) override {
    return inner_.Send(std::move(tensor), to, label);
  }
  std::unique_ptr<Pending> Recv(at::Tensor tensor, int from, std::string_view label) override {
    return inner_.Recv(std::move(tensor), from, label);
  }
  std::unique_ptr<Pending> Barrier() override { return inner_.Barrier(); }
  bool is_a_queue() const override { return inner_.is_a_queue(); }
  void StartMessages() override { inner_.StartMessages(); }
  void Abort(std::string_view why) override { inner_.Abort(why); }
  std::string DumpFlightRecord() const override { return inner_.DumpFlightRecord(); }

 private:
  Communicator& inner_;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_TESTING_FORWARDING_COMMUNICATOR_H_
