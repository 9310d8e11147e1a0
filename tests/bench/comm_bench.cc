// Measures collectives between processes of this machine, over the communicator that CPU training
// uses. usage: comm_bench [ranks]

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ATen/Parallel.h"
#include "ATen/ops/empty.h"
#include "ATen/ops/ones.h"
#include "base/clock.h"
#include "trainer/comm/communicator.h"
#include "trainer/comm/gloo_communicator.h"
#include "trainer/comm/round_store.h"

namespace muster::trainer {
namespace {

absl::Time Now() { return Clock::Real().Monotonic(); }

// Prints the median and least time of one operation, in milliseconds.
void Measure(Communicator& c, const char* name, int64_t bytes, int times,
             const std::function<void()>& operation) {
  for (int i = 0; i < 3; ++i) operation();
  std::vector<double> ms;
  for (int i = 0; i < times; ++i) {
    (void)c.Barrier()->Wait();
    const absl::Time begin = Now();
    operation();
    ms.push_back(absl::ToDoubleMilliseconds(Now() - begin));
  }
  std::sort(ms.begin(), ms.end());
  if (c.rank() != 0) return;
  std::printf("%-22s %10ld bytes  median %8.3f ms  least %8.3f ms  %6.2f GB/s\n", name,
              static_cast<long>(bytes), ms[ms.size() / 2], ms[0],
              static_cast<double>(bytes) / ms[ms.size() / 2] / 1e6);
}

void Must(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::_Exit(1);
}

void RunRank(const std::string& store, int rank, int size) {
  at::set_num_threads(1);
  absl::Duration forming;
  for (int round = 0; round < 10; ++round) {
    const absl::Time begin = Now();
    auto formed = MakeGlooCommunicator(
        {.store = store, .rank = rank, .size = size, .tag = std::to_string(round)});
    Must(formed.status());
    if (round > 0) forming += (Now() - begin) / 9;
    Must((*formed)->Barrier()->Wait());
  }
  if (rank == 0) std::printf("forming a group: %.1f ms\n", absl::ToDoubleMilliseconds(forming));
  auto made = MakeGlooCommunicator({.store = store, .rank = rank, .size = size, .tag = "bench"});
  Must(made.status());
  Communicator& c = **made;
  for (const int64_t bytes : {4L, 4096L, 1L << 18, 4L << 20, 64L << 20}) {
    const int64_t count = bytes / 4;
    const int times = bytes <= 4096 ? 300 : bytes <= (4 << 20) ? 40 : 9;
    at::Tensor whole = at::ones({count});
    Measure(c, "all-reduce", bytes, times,
            [&] { Must(c.AllReduce(whole, ReduceOp::kSum, "bench")->Wait()); });
    if (count % size != 0) continue;
    at::Tensor slice = at::ones({count / size});
    Measure(c, "reduce-scatter", bytes, times,
            [&] { Must(c.ReduceScatter(slice, whole, ReduceOp::kSum, "bench")->Wait()); });
    Measure(c, "all-gather", bytes, times,
            [&] { Must(c.AllGather(whole, slice, "bench")->Wait()); });
  }
  // A model's units, all in flight at once, as the engine issues them.
  std::vector<at::Tensor> units(16);
  for (at::Tensor& unit : units) unit = at::ones({1 << 20});
  Measure(c, "16 all-reduces at once", 64L << 20, 9, [&] {
    std::vector<std::unique_ptr<Pending>> pending;
    for (at::Tensor& unit : units) pending.push_back(c.AllReduce(unit, ReduceOp::kSum, "unit"));
    for (auto& p : pending) Must(p->Wait());
  });
}

int Run(int ranks) {
  std::vector<pid_t> children;
  std::vector<int> ends;
  for (int r = 0; r < ranks; ++r) {
    int to_rank[2];
    if (pipe(to_rank) != 0) return 1;
    const pid_t pid = fork();
    if (pid == 0) {
      char endpoint[256] = {};
      if (read(to_rank[0], endpoint, sizeof(endpoint) - 1) <= 0) std::_Exit(1);
      RunRank(endpoint, r, ranks);
      std::fflush(stdout);
      std::_Exit(0);
    }
    children.push_back(pid);
    ends.push_back(to_rank[1]);
  }
  const auto store = StartRoundStore();  // after the forks, because it starts a thread
  Must(store.status());
  for (const int end : ends) {
    const std::string& endpoint = (*store)->endpoint();
    if (write(end, endpoint.data(), endpoint.size()) < 0) return 1;
  }
  int failed = 0;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    failed += status != 0;
  }
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace muster::trainer

int main(int argc, char** argv) { return muster::trainer::Run(argc > 1 ? std::atoi(argv[1]) : 2); }
