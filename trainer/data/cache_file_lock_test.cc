#include "trainer/data/cache_file_lock.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/files/files.h"
#include "trainer/data/corpus.h"
#include "trainer/data/token_cache.h"
#include "trainer/data/tokenizer.h"

namespace muster::trainer {
namespace {

std::string Fresh(const std::string& name) {
  std::string folder = JoinPath(testing::TempDir(), name);
  EXPECT_TRUE(RemoveAll(FileSystem(), folder).ok());
  EXPECT_TRUE(FileSystem().MakeDirectories(folder).ok());
  return folder;
}

// Runs `body` in a child that reports when it is ready and then waits to be killed.
class Child {
 public:
  template <typename Body>
  explicit Child(Body body) {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    pid_ = fork();
    if (pid_ == 0) {
      body([&] { (void)!write(ready[1], "x", 1); });
      _exit(1);
    }
    char byte = 0;
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
  }
  void Kill() {
    EXPECT_EQ(kill(pid_, SIGKILL), 0);
    int status = 0;
    EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
    EXPECT_TRUE(WIFSIGNALED(status));
  }

 private:
  pid_t pid_ = 0;
};

TEST(CacheFileLockTest, TheLockOfAKilledProcessGoesToTheNext) {
  const std::string path = Fresh("killed") + "/a.tokens";
  Child maker([&](auto ready) {
    const CacheFileLock lock(path);
    ready();
    pause();
  });
  std::promise<bool> took;
  std::thread waiter([&] {
    const CacheFileLock lock(path);
    took.set_value(lock.held());
  });
  auto result = took.get_future();
  EXPECT_NE(result.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  maker.Kill();
  EXPECT_TRUE(result.get()) << "it makes the file now, and others wait for it";
  waiter.join();
  EXPECT_TRUE(FileSystem().List(ParentPath(path))->empty()) << "no lock is left behind";
}

TEST(CacheFileLockTest, ProcessesThatWaitedFindTheFileThatTheFirstMade) {
  const std::string path = Fresh("many") + "/a.tokens";
  std::atomic<int> makers{0};
  std::atomic<int> starting{0};
  auto first = std::make_unique<CacheFileLock>(path);
  std::vector<std::thread> others;
  for (int i = 0; i < 4; ++i) {
    others.emplace_back([&] {
      ++starting;
      const CacheFileLock lock(path);
      makers += Exists(FileSystem(), path) ? 0 : 1;
    });
  }
  while (starting < 4) std::this_thread::yield();
  EXPECT_TRUE(first->held());
  EXPECT_TRUE(WriteFileAtomically(FileSystem(), path, "made").ok());
  first.reset();
  for (std::thread& other : others) other.join();
  EXPECT_EQ(makers, 0);
  EXPECT_EQ(FileSystem().List(ParentPath(path))->size(), 1u);
}

TEST(CacheFileLockTest, AMissingDirectoryIsNotLocked) {
  const CacheFileLock lock(testing::TempDir() + "/no/such/folder/a.tokens");
  EXPECT_FALSE(lock.held());
}

// Encodes bytes as ids; calls `in_json` and `in_encode` inside json() and Encode().
class CountingTokenizer final : public Tokenizer {
 public:
  explicit CountingTokenizer(std::function<void()> in_json, std::function<void()> in_encode)
      : in_json_(std::move(in_json)), in_encode_(std::move(in_encode)) {}
  uint32_t vocabulary() const override { return 256; }
  std::optional<uint32_t> end_of_text() const override { return std::nullopt; }
  const std::string& json() const override {
    in_json_();
    return json_;
  }
  void Encode(std::string_view text, std::vector<uint32_t>& ids) const override {
    in_encode_();
    for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
  }
  std::string Decode(std::span<const uint32_t> ids) const override { return ""; }

 private:
  const std::string json_ = "{}";
  const std::function<void()> in_json_, in_encode_;
};

TEST(CacheFileLockTest, RanksThatStartTogetherTokeniseANewCorpusOnce) {
  const std::string folder = Fresh("ranks"), cache = folder + "/cache";
  ASSERT_TRUE(WriteFileAtomically(FileSystem(), folder + "/a.txt", std::string(9999, 'a')).ok());
  const auto corpus = OpenCorpus(FileSystem(), folder + "/a.txt", TextFormat::kText);
  ASSERT_TRUE(corpus.ok()) << corpus.status();
  std::atomic<int> encoded{0};
  std::promise<void> encodes, second_looks;
  const CountingTokenizer first([] {},
                                [&] {
                                  ++encoded;
                                  encodes.set_value();
                                  second_looks.get_future().wait();
                                });
  const CountingTokenizer second([&] { second_looks.set_value(); }, [&] { ++encoded; });
  std::thread rank([&] {
    const auto tokens = Tokenize(FileSystem(), *corpus, first, cache);
    ASSERT_TRUE(tokens.ok()) << tokens.status();
    EXPECT_EQ(tokens->size(), 9999u);
  });
  encodes.get_future().wait();
  const auto tokens = Tokenize(FileSystem(), *corpus, second, cache);
  rank.join();
  ASSERT_TRUE(tokens.ok()) << tokens.status();
  EXPECT_EQ(tokens->size(), 9999u);
  EXPECT_EQ(tokens->at(9998), static_cast<uint32_t>('a'));
  EXPECT_EQ(encoded, 1);
  EXPECT_EQ(FileSystem().List(cache)->size(), 1u) << "the token file alone";
}

TEST(CacheFileLockTest, ARankKilledWhileItTokenisesLeavesNoUsableFile) {
  const std::string folder = Fresh("half"), cache = folder + "/cache";
  ASSERT_TRUE(WriteFileAtomically(FileSystem(), folder + "/a.txt", std::string(9999, 'a')).ok());
  const auto corpus = OpenCorpus(FileSystem(), folder + "/a.txt", TextFormat::kText);
  ASSERT_TRUE(corpus.ok()) << corpus.status();
  Child maker([&](auto ready) {
    const CountingTokenizer tokenizer([] {},
                                      [&] {
                                        ready();
                                        pause();
                                      });
    (void)Tokenize(FileSystem(), *corpus, tokenizer, cache);
  });
  maker.Kill();
  int encoded = 0;
  const CountingTokenizer tokenizer([] {}, [&] { ++encoded; });
  const auto tokens = Tokenize(FileSystem(), *corpus, tokenizer, cache);
  ASSERT_TRUE(tokens.ok()) << tokens.status();
  EXPECT_EQ(tokens->size(), 9999u);
  EXPECT_EQ(encoded, 1);
}

}  // namespace
}  // namespace muster::trainer
