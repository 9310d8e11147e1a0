#ifndef MUSTER_TRAINER_CUDA_FAKE_STREAM_H_
#define MUSTER_TRAINER_CUDA_FAKE_STREAM_H_

#include <deque>
#include <functional>
#include <memory>
#include <thread>

#include "base/mutex.h"
#include "trainer/cuda/device_queue.h"

namespace muster::trainer::cuda {

// A thread that carries out one piece of work after another. Its end waits for all of them.
class FakeStream {
 public:
  FakeStream() : thread_([this] { Run(); }) {}
  ~FakeStream();
  FakeStream(const FakeStream&) = delete;
  FakeStream& operator=(const FakeStream&) = delete;

  void Add(std::function<void()> work) MUSTER_EXCLUDES(mu_);

 private:
  void Run() MUSTER_EXCLUDES(mu_);

  Mutex mu_;
  CondVar changed_;
  std::deque<std::function<void()>> work_ MUSTER_GUARDED_BY(mu_);
  bool ending_ MUSTER_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

// A stream of the host: a thread that carries out one operation after another.
std::unique_ptr<DeviceQueue> MakeFakeQueue();

}  // namespace muster::trainer::cuda

#endif  // MUSTER_TRAINER_CUDA_FAKE_STREAM_H_
