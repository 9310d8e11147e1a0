#include "trainer/comm/communicator_conformance.h"

#include <memory>
#include <thread>

#include "ATen/ops/arange.h"
#include "ATen/ops/empty.h"
#include "ATen/ops/equal.h"
#include "ATen/ops/full.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace muster::trainer {
namespace {

#define MUSTER_REQUIRE(condition)                                                  \
  do {                                                                             \
    if (!(condition)) return absl::StrCat("line ", __LINE__, ": not " #condition); \
  } while (false)
#define MUSTER_REQUIRE_OK(expr)                                   \
  do {                                                            \
    if (absl::Status s = (expr); !s.ok())                         \
      return absl::StrCat("line ", __LINE__, ": ", s.ToString()); \
  } while (false)

constexpr at::ScalarType kTypes[] = {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf, at::kLong};

// Where the tensors of this thread's case are.
thread_local c10::Device device_of_case = at::kCPU;

at::Tensor Full(int64_t count, double value, at::ScalarType type = at::kFloat) {
  return at::full({count}, value, at::TensorOptions().dtype(at::kDouble))
      .to(type)
      .to(device_of_case);
}
// Returns factor times 0, 1, ... 7, 0, 1, ...
at::Tensor Counted(int64_t count, int64_t factor, at::ScalarType type) {
  return at::arange(count).remainder(8).mul(factor).to(type).to(device_of_case);
}
bool Is(const at::Tensor& tensor, double value) {
  return at::equal(tensor, Full(tensor.numel(), value, tensor.scalar_type()));
}

std::string AllReduce(Communicator& c) {
  const int n = c.size();
  for (const at::ScalarType type : kTypes) {
    for (const int64_t count : {1, 7, 1000, 70000}) {
      at::Tensor t = Full(count, c.rank() + 1, type);
      MUSTER_REQUIRE_OK(c.AllReduce(t, ReduceOp::kSum, "sum")->Wait());
      MUSTER_REQUIRE(Is(t, n * (n + 1) / 2));
      t = Full(count, c.rank() + 1, type);
      MUSTER_REQUIRE_OK(c.AllReduce(t, ReduceOp::kMax, "max")->Wait());
      MUSTER_REQUIRE(Is(t, n));
      t = Full(count, c.rank() + 1, type);
      MUSTER_REQUIRE_OK(c.AllReduce(t, ReduceOp::kMin, "min")->Wait());
      MUSTER_REQUIRE(Is(t, 1));
    }
  }
  at::Tensor empty = Full(0, 0);
  MUSTER_REQUIRE_OK(c.AllReduce(empty, ReduceOp::kSum, "nothing")->Wait());
  return "";
}

std::string ScatterAndGather(Communicator& c) {
  const int n = c.size();
  for (const at::ScalarType type : kTypes) {
    at::Tensor input = Counted(5 * n, c.rank() + 1, type);
    at::Tensor slice = Full(5, 0, type);
    MUSTER_REQUIRE_OK(c.ReduceScatter(slice, input, ReduceOp::kSum, "scatter")->Wait());
    const at::Tensor all_sums = Counted(5 * n, n * (n + 1) / 2, type);
    MUSTER_REQUIRE(at::equal(slice, all_sums.narrow(0, 5 * c.rank(), 5)));
    at::Tensor gathered = Full(5 * n, 0, type);
    MUSTER_REQUIRE_OK(c.AllGather(gathered, slice, "gather")->Wait());
    MUSTER_REQUIRE(at::equal(gathered, all_sums));
    MUSTER_REQUIRE_OK(c.ReduceScatter(slice, input, ReduceOp::kMax, "scatter")->Wait());
    const at::Tensor all_max = Counted(5 * n, n, type);
    MUSTER_REQUIRE(at::equal(slice, all_max.narrow(0, 5 * c.rank(), 5)));
  }
  return "";
}

// Rank r sends s elements of value 10 r + s to rank s, so rank 0 gets none.
std::string Exchange(Communicator& c) {
  const int n = c.size(), me = c.rank();
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kHalf, at::kLong}) {
    std::vector<int64_t> input_counts;
    at::Tensor input = Full(n * (n - 1) / 2, 0, type);
    int64_t begin = 0;
    for (int s = 0; s < n; ++s) {
      input_counts.push_back(s);
      input.narrow(0, begin, s).fill_(10 * me + s);
      begin += s;
    }
    at::Tensor output = Full(static_cast<int64_t>(me) * n, -1, type);
    MUSTER_REQUIRE_OK(
        c.AllToAllV(output, std::vector<int64_t>(n, me), input, input_counts, "exchange")->Wait());
    for (int r = 0; r < n; ++r) MUSTER_REQUIRE(Is(output.narrow(0, r * me, me), 10 * r + me));
  }
  return "";
}

std::string Broadcast(Communicator& c) {
  for (int root = 0; root < c.size(); ++root) {
    for (const at::ScalarType type : kTypes) {
      at::Tensor t = Full(333, c.rank(), type);
      MUSTER_REQUIRE_OK(c.Broadcast(t, root, "broadcast")->Wait());
      MUSTER_REQUIRE(Is(t, root));
    }
  }
  return "";
}

std::string Ring(Communicator& c) {
  const int n = c.size(), next = (c.rank() + 1) % n, previous = (c.rank() + n - 1) % n;
  for (const int64_t count : {1, 1000, 300000}) {
    at::Tensor out = Full(count, c.rank()), out2 = Full(count, c.rank() + 100);
    at::Tensor in = Full(count, -1), in2 = Full(count, -1);
    auto s1 = c.Send(out, next, "ring"), s2 = c.Send(out2, next, "ring");
    auto r1 = c.Recv(in, previous, "ring"), r2 = c.Recv(in2, previous, "ring");
    MUSTER_REQUIRE_OK(r1->Wait());
    MUSTER_REQUIRE_OK(r2->Wait());
    MUSTER_REQUIRE_OK(s1->Wait());
    MUSTER_REQUIRE_OK(s2->Wait());
    MUSTER_REQUIRE(Is(in, previous));
    MUSTER_REQUIRE(Is(in2, previous + 100));
  }
  MUSTER_REQUIRE_OK(c.Barrier()->Wait());  // others may still be at it
  return "";
}

std::string ManyInFlight(Communicator& c) {
  std::vector<at::Tensor> tensors;
  std::vector<std::unique_ptr<Pending>> pending;
  for (int i = 0; i < 24; ++i) {
    tensors.push_back(Full(1000 * (i + 1), i + c.rank()));
    pending.push_back(c.AllReduce(tensors.back(), ReduceOp::kMax, absl::StrCat("t", i)));
  }
  for (int i = 0; i < 24; ++i) {
    MUSTER_REQUIRE_OK(pending[i]->Wait());
    MUSTER_REQUIRE_OK(pending[i]->Wait());  // again: the same answer
    MUSTER_REQUIRE(Is(tensors[i], i + c.size() - 1));
  }
  MUSTER_REQUIRE_OK(c.Barrier()->Wait());
  const std::string record = c.DumpFlightRecord();
  MUSTER_REQUIRE(absl::StrContains(record, "#23 AllReduce max 24000 Float \"t23\": done\n"));
  MUSTER_REQUIRE(absl::StrContains(record, "#24 Barrier: done\n"));
  return "";
}

// Rank 0 waits for a message that is never sent, and another thread aborts it; the other ranks find
// their peer gone. Every later operation fails.
std::string AbortFromAnotherThread(Communicator& c) {
  at::Tensor t = Full(100000, 1);
  MUSTER_REQUIRE_OK(c.Barrier()->Wait());  // others may still be connecting
  auto pending = c.Recv(t, (c.rank() + 1) % c.size(), "never sent");
  std::thread aborter;
  if (c.rank() == 0) aborter = std::thread([&] { c.Abort("another round is prepared"); });
  const absl::Status status = pending->Wait();
  if (aborter.joinable()) aborter.join();
  const auto code = c.rank() == 0 ? absl::StatusCode::kAborted : absl::StatusCode::kUnavailable;
  if (status.code() != code) return status.ToString();
  if (c.rank() == 0) MUSTER_REQUIRE(status.message() == "another round is prepared");
  MUSTER_REQUIRE(c.AllReduce(t, ReduceOp::kSum, "later")->Wait() == status);
  c.Abort("again");
  MUSTER_REQUIRE(c.Barrier()->Wait() == status);
  MUSTER_REQUIRE(absl::StrContains(c.DumpFlightRecord(), "\"never sent\": failed\n"));
  return "";
}

std::string DeadPeer(Communicator& c) {
  at::Tensor t = Full(100000, 1);
  MUSTER_REQUIRE_OK(c.AllReduce(t, ReduceOp::kSum, "together")->Wait());
  if (c.rank() == c.size() - 1) return "";  // its communicator dies with it
  const absl::Status status = c.AllReduce(t, ReduceOp::kSum, "alone")->Wait();
  if (status.code() != absl::StatusCode::kUnavailable) return status.ToString();
  MUSTER_REQUIRE(c.AllReduce(t, ReduceOp::kSum, "later")->Wait() == status);
  return "";
}

// Neither rank takes part in the other's operation: the rank that gives up first reports the
// deadline, the other one finds it gone.
std::string SilentPeer(Communicator& c) {
  at::Tensor t = Full(1000, 1);
  const absl::Status status = c.Recv(t, 1 - c.rank(), "never sent")->Wait();
  if (status.code() != absl::StatusCode::kDeadlineExceeded &&
      status.code() != absl::StatusCode::kUnavailable) {
    return status.ToString();
  }
  MUSTER_REQUIRE(c.Barrier()->Wait() == status);
  return "";
}

std::string CheckNamesBoth(Communicator& c) {
  at::Tensor t = Full(1000, 1);
  MUSTER_REQUIRE_OK(c.AllReduce(t, ReduceOp::kSum, "same")->Wait());
  const absl::Status status = c.rank() == 0 ? c.AllReduce(t, ReduceOp::kSum, "unit 3")->Wait()
                                            : c.AllReduce(t, ReduceOp::kSum, "unit 4")->Wait();
  if (absl::IsUnavailable(status)) return "";  // the other rank saw it first and left
  if (!absl::IsInternal(status)) return status.ToString();
  MUSTER_REQUIRE(absl::StrContains(status.message(), "AllReduce sum 1000 Float \"unit 3\""));
  MUSTER_REQUIRE(absl::StrContains(status.message(), "AllReduce sum 1000 Float \"unit 4\""));
  return "";
}

std::string CheckComparesMessages(Communicator& c) {
  at::Tensor t = Full(1000, 1), u = Full(10, 1);
  if (c.rank() == 0) {
    MUSTER_REQUIRE_OK(c.Send(t, 1, "layer")->Wait());
    (void)c.Send(u, 1, "other")->Wait();
    return "";
  }
  MUSTER_REQUIRE_OK(c.Recv(t, 0, "layer")->Wait());
  const absl::Status status = c.Recv(u, 0, "norm")->Wait();
  if (!absl::IsInternal(status)) return status.ToString();
  MUSTER_REQUIRE(absl::StrContains(status.message(), "message 0 -> 1 10 Float \"other\""));
  return "";
}

std::vector<ConformanceCase> MakeCases() {
  std::vector<ConformanceCase> cases;
  for (const int ranks : {1, 2, 4}) {
    auto add = [&](const char* name, std::string (*body)(Communicator&), bool check = false) {
      cases.push_back(
          {.name = absl::StrCat(name, "Of", ranks), .ranks = ranks, .check = check, .body = body});
    };
    add("AllReduce", AllReduce);
    add("ScatterAndGather", ScatterAndGather);
    add("Exchange", Exchange);
    add("Broadcast", Broadcast);
    add("ManyInFlight", ManyInFlight);
    if (ranks == 1) continue;
    add("Ring", Ring);
    add("CheckedExchange", Exchange, true);
    add("CheckedRing", Ring, true);
    add("AbortFromAnotherThread", AbortFromAnotherThread);
    add("DeadPeer", DeadPeer);
  }
  // The deadline leaves time for the ranks to find each other, too.
  cases.push_back({.name = "SilentPeer", .deadline = absl::Seconds(2), .body = SilentPeer});
  cases.push_back({.name = "CheckNamesBoth", .check = true, .body = CheckNamesBoth});
  cases.push_back({.name = "CheckComparesMessages", .check = true, .body = CheckComparesMessages});
  return cases;
}

}  // namespace

std::vector<ConformanceCase> CommunicatorConformanceCases(c10::Device device) {
  std::vector<ConformanceCase> cases = MakeCases();
  for (ConformanceCase& test : cases) {
    test.body = [device, body = test.body](Communicator& communicator) {
      device_of_case = device;
      return body(communicator);
    };
  }
  return cases;
}

std::vector<std::string> RunOnThreads(const ConformanceCase& test,
                                      std::vector<std::unique_ptr<Communicator>> communicators) {
  std::vector<std::string> wrong(communicators.size());
  std::vector<std::thread> threads;
  for (size_t r = 0; r < communicators.size(); ++r) {
    threads.emplace_back([&, r] {
      wrong[r] = test.body(*communicators[r]);
      communicators[r].reset();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return wrong;
}

}  // namespace muster::trainer
