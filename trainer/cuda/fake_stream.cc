#include "trainer/cuda/fake_stream.h"

#include <atomic>
#include <memory>
#include <utility>

namespace muster::trainer::cuda {

FakeStream::~FakeStream() {
  {
    MutexLock lock(mu_);
    ending_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

void FakeStream::Add(std::function<void()> work) {
  MutexLock lock(mu_);
  work_.push_back(std::move(work));
  changed_.NotifyAll();
}

void FakeStream::Run() {
  while (true) {
    std::function<void()> next;
    {
      MutexLock lock(mu_);
      while (work_.empty() && !ending_) changed_.Wait(mu_);
      if (work_.empty()) return;
      next = std::move(work_.front());
      work_.pop_front();
    }
    next();
  }
}

namespace {

class FakeMark final : public QueueMark {
 public:
  explicit FakeMark(std::shared_ptr<std::atomic<bool>> passed) : passed_(std::move(passed)) {}
  absl::StatusOr<bool> Passed() override { return passed_->load(); }

 private:
  const std::shared_ptr<std::atomic<bool>> passed_;
};

class FakeQueue final : public DeviceQueue {
 public:
  Stream stream() const override {
    return reinterpret_cast<Stream>(const_cast<FakeStream*>(&stream_));
  }
  absl::Status WaitForCompute() override { return absl::OkStatus(); }
  absl::StatusOr<std::unique_ptr<QueueMark>> Mark() override {
    auto passed = std::make_shared<std::atomic<bool>>(false);
    stream_.Add([passed] { passed->store(true); });
    return std::make_unique<FakeMark>(passed);
  }

 private:
  FakeStream stream_;
};

}  // namespace

std::unique_ptr<DeviceQueue> MakeFakeQueue() { return std::make_unique<FakeQueue>(); }

}  // namespace muster::trainer::cuda
