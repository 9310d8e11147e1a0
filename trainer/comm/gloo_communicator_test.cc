#include "trainer/comm/gloo_communicator.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "ATen/Parallel.h"
#include "ATen/ops/ones.h"
#include "ATen/ops/zeros.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "gtest/gtest.h"
#include "trainer/comm/communicator_conformance.h"
#include "trainer/comm/round_store.h"

namespace muster::trainer {
namespace {

// A deadline that a test lets pass. All that must succeed before, by processes that were just
// forked, has the same time: one or two seconds are not enough on a machine that runs many tests.
constexpr absl::Duration kDeadline = absl::Seconds(8);

// Runs one process per rank, forked before this one has any thread. The text that a body returns
// goes to the test.
class Processes {
 public:
  ~Processes() {
    for (const Child& child : children_) kill(child.pid, SIGKILL);
  }

  // Starts a process that serves a store, and returns the endpoint that it writes first.
  std::string Serve() {
    return Start([](int out) {
      auto store = StartRoundStore();
      Write(out, (*store)->endpoint() + "\n");
      pause();
      return std::string();
    });
  }
  void StartRank(const std::function<std::string()>& body) {
    Start(
        [&](int out) {
          at::set_num_threads(1);
          return body() + "\n";
        },
        /*read_line=*/false);
  }
  pid_t pid(int child) const { return children_[child].pid; }

  // Returns the text that child `child` returned.
  std::string Result(int child) {
    std::string text = ReadLine(children_[child].out);
    return text;
  }

 private:
  struct Child {
    pid_t pid = 0;
    int out = -1;
  };

  static void Write(int fd, const std::string& text) {
    ASSERT_EQ(write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  static std::string ReadLine(int fd) {
    std::string text;
    char c = 0;
    while (read(fd, &c, 1) == 1 && c != '\n') text += c;
    return c == '\n' ? text : "died: " + text;
  }

  std::string Start(const std::function<std::string(int)>& body, bool read_line = true) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    const pid_t pid = fork();
    if (pid == 0) {
      close(ends[0]);
      Write(ends[1], body(ends[1]));
      _exit(0);
    }
    close(ends[1]);
    children_.push_back({pid, ends[0]});
    return read_line ? ReadLine(ends[0]) : "";
  }

  std::vector<Child> children_;
};

class GlooConformanceTest : public testing::TestWithParam<ConformanceCase> {};

TEST_P(GlooConformanceTest, Holds) {
  const ConformanceCase& test = GetParam();
  Processes processes;
  const std::string store = processes.Serve();
  for (int r = 0; r < test.ranks; ++r) {
    processes.StartRank([&] {
      auto communicator = MakeGlooCommunicator({.store = store,
                                                .rank = r,
                                                .size = test.ranks,
                                                .tag = "1.1",
                                                .deadline = test.deadline,
                                                .check = test.check});
      if (!communicator.ok()) return communicator.status().ToString();
      return test.body(**communicator);
    });
  }
  for (int r = 0; r < test.ranks; ++r) EXPECT_EQ(processes.Result(1 + r), "") << "rank " << r;
}

INSTANTIATE_TEST_SUITE_P(All, GlooConformanceTest,
                         testing::ValuesIn(CommunicatorConformanceCases()),
                         [](const auto& info) { return info.param.name; });

TEST(GlooCommunicatorTest, AStoppedPeerExceedsTheDeadline) {
  Processes processes;
  const std::string store = processes.Serve();
  for (int r = 0; r < 2; ++r) {
    processes.StartRank([&] {
      auto communicator = MakeGlooCommunicator(
          {.store = store, .rank = r, .size = 2, .tag = "t", .deadline = kDeadline});
      at::Tensor t = at::ones({100000});
      std::string first = (*communicator)->AllReduce(t, ReduceOp::kSum, "a")->Wait().ToString();
      if (r == 1) raise(SIGSTOP);
      return absl::StrCat(first, " ",
                          (*communicator)->AllReduce(t, ReduceOp::kSum, "b")->Wait().ToString());
    });
  }
  const std::string result = processes.Result(1);
  EXPECT_EQ(result.rfind("OK DEADLINE_EXCEEDED: operation #1 AllReduce sum 100000 Float \"b\"", 0),
            0)
      << result;
}

TEST(GlooCommunicatorTest, AKilledPeerIsUnavailable) {
  Processes processes;
  const std::string store = processes.Serve();
  for (int r = 0; r < 2; ++r) {
    processes.StartRank([&] {
      auto communicator = MakeGlooCommunicator({.store = store, .rank = r, .size = 2, .tag = "t"});
      at::Tensor t = at::ones({100000});
      (void)(*communicator)->AllReduce(t, ReduceOp::kSum, "a")->Wait();
      if (r == 1) raise(SIGKILL);
      return (*communicator)->AllReduce(t, ReduceOp::kSum, "b")->Wait().ToString();
    });
  }
  EXPECT_EQ(processes.Result(1).rfind("UNAVAILABLE: ", 0), 0);
}

TEST(GlooCommunicatorTest, ConnectingNamesTheRanksThatAreMissing) {
  Processes processes;
  const std::string store = processes.Serve();
  processes.StartRank([&] {
    return MakeGlooCommunicator(
               {.store = store, .rank = 1, .size = 3, .tag = "7.3", .deadline = kDeadline})
        .status()
        .ToString();
  });
  EXPECT_EQ(processes.Result(1),
            "DEADLINE_EXCEEDED: group 7.3: these ranks did not connect in time: 0, 2");
}

TEST(GlooCommunicatorTest, RanksOfAnotherRoundDoNotMeet) {
  Processes processes;
  const std::string store = processes.Serve();
  for (int r = 0; r < 2; ++r) {
    processes.StartRank([&] {
      return MakeGlooCommunicator({.store = store,
                                   .rank = r,
                                   .size = 2,
                                   .tag = absl::StrCat("1.", r),
                                   .deadline = kDeadline})
          .status()
          .ToString();
    });
  }
  EXPECT_EQ(processes.Result(1),
            "DEADLINE_EXCEEDED: group 1.0: these ranks did not connect in time: 1");
  EXPECT_EQ(processes.Result(2),
            "DEADLINE_EXCEEDED: group 1.1: these ranks did not connect in time: 0");
}

TEST(GlooCommunicatorTest, AbortEndsConnectingThatWaitsForAPeer) {
  Processes processes;
  const std::string store = processes.Serve();
  processes.StartRank([&] {
    GlooConnector connector({.store = store, .rank = 0, .size = 2, .tag = "t"});
    std::thread aborter([&] { connector.Abort("prepared again"); });
    const absl::Status status = connector.Connect().status();
    aborter.join();
    return status.ToString();
  });
  EXPECT_EQ(processes.Result(1), "ABORTED: prepared again");
}

TEST(GlooCommunicatorTest, AbortEndsConnectingToAStoppedStore) {
  Processes processes;
  const std::string store = processes.Serve();
  kill(processes.pid(0), SIGSTOP);
  processes.StartRank([&] {
    GlooConnector connector({.store = store, .rank = 0, .size = 2, .tag = "t"});
    const absl::Time begin = Clock::Real().Monotonic();
    std::thread aborter([&] { connector.Abort("prepared again"); });
    const absl::Status status = connector.Connect().status();
    aborter.join();
    const bool quick = Clock::Real().Monotonic() - begin < absl::Seconds(10);
    return absl::StrCat(status.ToString(), quick ? " quickly" : " slowly");
  });
  EXPECT_EQ(processes.Result(1), "ABORTED: prepared again quickly");
}

TEST(GlooCommunicatorTest, AStoreThatIsGoneIsUnavailable) {
  Processes processes;
  const std::string store = processes.Serve();
  kill(processes.pid(0), SIGKILL);
  waitpid(processes.pid(0), nullptr, 0);
  processes.StartRank([&] {
    return MakeGlooCommunicator(
               {.store = store, .size = 2, .tag = "t", .deadline = absl::Milliseconds(100)})
        .status()
        .ToString();
  });
  EXPECT_EQ(processes.Result(1), absl::StrCat("UNAVAILABLE: no store answers at ", store));
}

// Rounds follow each other in the same processes: abort, then form again under another tag.
TEST(GlooCommunicatorTest, FormsAgainAfterAnAbort) {
  Processes processes;
  const std::string store = processes.Serve();
  for (int r = 0; r < 2; ++r) {
    processes.StartRank([&] {
      std::string results;
      for (int round = 1; round <= 5; ++round) {
        auto communicator = MakeGlooCommunicator(
            {.store = store, .rank = r, .size = 2, .tag = absl::StrCat("1.", round)});
        if (!communicator.ok()) return communicator.status().ToString();
        at::Tensor t = at::ones({1000});
        const absl::Status sum = (*communicator)->AllReduce(t, ReduceOp::kSum, "a")->Wait();
        absl::StrAppend(&results, sum.ok() ? t[0].item<float>() : -1.0f, " ");
        auto pending = (*communicator)->Recv(t, 1 - r, "never");
        (*communicator)->Abort("next");
        (void)pending->Wait();
      }
      return results;
    });
  }
  EXPECT_EQ(processes.Result(1), "2 2 2 2 2 ");
  EXPECT_EQ(processes.Result(2), "2 2 2 2 2 ");
}

// Ranks 0 and 1 form a group whose connection is stuck in the middle of a message: rank 1 stops
// itself as soon as the first bytes are there. Gloo never reports to rank 0's operation that its
// connection broke.
constexpr int64_t kStuckElements = 64 << 20;

GlooOptions StuckOptions(const std::string& store, int rank) {
  return {.store = store, .rank = rank, .size = 2, .tag = "stuck", .deadline = absl::Seconds(50)};
}

// Runs rank 1: `start` begins to receive into the tensor.
std::string ReceiveAndStop(
    const std::string& store,
    const std::function<std::unique_ptr<Pending>(Communicator&, at::Tensor)>& start) {
  auto communicator = MakeGlooCommunicator(StuckOptions(store, 1));
  at::Tensor tensor = at::zeros({kStuckElements});
  const auto pending = start(**communicator, tensor);
  const volatile float* first = tensor.const_data_ptr<float>();
  while (*first == 0.0f) {
  }
  raise(SIGSTOP);
  return "went on";
}

void WaitUntilStopped(pid_t pid) {
  std::string state;
  while (state != "T") {
    std::ifstream stat(absl::StrCat("/proc/", pid, "/stat"));
    std::string number, name;
    stat >> number >> name >> state;
  }
}

// Runs rank 0: `start` begins to send; then the group is aborted from another thread.
std::string SendAndAbort(
    const std::string& store, pid_t peer,
    const std::function<std::unique_ptr<Pending>(Communicator&, at::Tensor)>& start) {
  auto communicator = *MakeGlooCommunicator(StuckOptions(store, 0));
  at::Tensor small = at::ones({1000});
  std::vector<std::unique_ptr<Pending>> pending;
  pending.push_back(start(*communicator, at::ones({kStuckElements})));
  for (int i = 0; i < 20; ++i) {
    pending.push_back(communicator->AllReduce(small, ReduceOp::kSum, "behind it"));
  }
  WaitUntilStopped(peer);
  const absl::Time begin = Clock::Real().Monotonic();
  std::thread aborter([&] { communicator->Abort("another round is prepared"); });
  const absl::Status status = pending[0]->Wait();
  aborter.join();
  for (auto& p : pending) {
    if (p->Wait() != status) return "another status: " + p->Wait().ToString();
  }
  pending.clear();
  communicator.reset();
  const bool soon = Clock::Real().Monotonic() - begin < absl::Seconds(10);
  return absl::StrCat(status.ToString(), soon ? ", soon" : ", late");
}

TEST(GlooCommunicatorTest, AbortEndsACollectiveThatGlooForgot) {
  Processes processes;
  const std::string store = processes.Serve();
  auto start = [](Communicator& c, at::Tensor t) { return c.Broadcast(t, 0, "forgotten"); };
  processes.StartRank([&] { return ReceiveAndStop(store, start); });
  processes.StartRank([&] { return SendAndAbort(store, processes.pid(1), start); });
  EXPECT_EQ(processes.Result(2), "ABORTED: another round is prepared, soon");
}

TEST(GlooCommunicatorTest, AbortEndsASendThatGlooForgot) {
  Processes processes;
  const std::string store = processes.Serve();
  processes.StartRank([&] {
    return ReceiveAndStop(store, [](Communicator& c, at::Tensor t) { return c.Recv(t, 0, "m"); });
  });
  processes.StartRank([&] {
    return SendAndAbort(store, processes.pid(1),
                        [](Communicator& c, at::Tensor t) { return c.Send(t, 1, "m"); });
  });
  EXPECT_EQ(processes.Result(2), "ABORTED: another round is prepared, soon");
}

// The thread that destroys the group is still asleep when the process ends.
TEST(GlooCommunicatorTest, AProcessEndsWhileItsStuckGroupIsDestroyed) {
  auto start = [](Communicator& c, at::Tensor t) { return c.Broadcast(t, 0, "forgotten"); };
  EXPECT_EXIT(
      {
        {
          Processes processes;
          const std::string store = processes.Serve();
          processes.StartRank([&] { return ReceiveAndStop(store, start); });
          (void)SendAndAbort(store, processes.pid(1), start);
        }
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
}

// Its certificates are read, and the tensors are sent in clear.
TEST(GlooCommunicatorTest, ATransportThatOnlyClaimsToEncryptIsRefused) {
  setenv("GLOO_DEVICE_TRANSPORT", "TCP_TLS", 1);
  const absl::Status refused = MakeGlooCommunicator({.store = "nowhere", .size = 2}).status();
  unsetenv("GLOO_DEVICE_TRANSPORT");
  EXPECT_EQ(refused, absl::FailedPreconditionError(
                         "GLOO_DEVICE_TRANSPORT is TCP_TLS, which encrypts nothing in this "
                         "LibTorch: leave it out, and encrypt the network of the pods instead"));
}

TEST(GlooCommunicatorTest, AStoreThatIsNotHostAndPortIsRefused) {
  EXPECT_EQ(MakeGlooCommunicator({.store = "nowhere", .size = 2}).status(),
            absl::InvalidArgumentError("\"nowhere\" is not host:port"));
}

}  // namespace
}  // namespace muster::trainer
