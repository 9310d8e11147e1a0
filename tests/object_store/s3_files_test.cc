// Files over a real S3-compatible server.
#include "base/object_store/s3_files.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/clock.h"
#include "base/files/files.h"
#include "base/object_store/credentials_cache.h"
#include "base/object_store/credentials_choice.h"
#include "base/object_store/credentials_source.h"
#include "base/object_store/curl_transport.h"
#include "base/testing/files_contract.h"
#include "tests/testenv/s3_server.h"

namespace muster {
namespace {

constexpr size_t kPart = size_t{5} << 20;  // the smallest that S3 allows

S3Server& Server() {
  static S3Server* const server = [] {
    auto started = S3Server::Start();
    if (!started.ok()) ADD_FAILURE() << started.status();
    return started.ok() ? started->release() : nullptr;
  }();
  return *server;
}

std::unique_ptr<S3Client> ClientWith(S3Options options) {
  options.most_tries = 3;
  options.first_wait = absl::Milliseconds(1);
  return std::make_unique<S3Client>(std::move(options),
                                    std::make_unique<CurlTransport>(CurlOptions()), Clock::Real(),
                                    [](absl::Duration wait) { absl::SleepFor(wait); });
}

std::unique_ptr<S3Client> Client() { return ClientWith(Server().client_options()); }

std::shared_ptr<S3Files> NewFiles() {
  return std::make_shared<S3Files>(
      Client(), S3Files::Options{.part_bytes = kPart, .blocks = {.block_bytes = 1 << 20}});
}

std::string NewRoot() {
  static std::atomic<int> number = 0;
  return absl::StrCat("s3://", S3Server::kBucket, "/test-", ++number);
}

INSTANTIATE_TEST_SUITE_P(S3, FilesContract,
                         testing::Values([] { return FilesUnderTest{NewFiles(), NewRoot()}; }));

std::string Bytes(size_t size) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>((i * 2654435761u) >> 13);
  return bytes;
}

TEST(S3FilesTest, AFileOfManyPartsIsReadBackInAnyPieces) {
  const auto files = NewFiles();
  const std::string path = NewRoot() + "/long", bytes = Bytes(11 * kPart + 17);
  auto file = files->Create(path, CreateMode::kExclusive).value();
  for (size_t at = 0; at < bytes.size(); at += 3'000'000) {
    ASSERT_TRUE(file->Append(std::string_view(bytes).substr(at, 3'000'000)).ok());
  }
  EXPECT_TRUE(absl::IsNotFound(files->Open(path).status())) << "seen before it was closed";
  ASSERT_TRUE(file->Close().ok());
  const auto read = files->Open(path).value();
  EXPECT_EQ(read->size(), bytes.size());
  for (const auto& [at, size] : std::vector<std::pair<size_t, size_t>>{
           {0, 8}, {kPart - 3, 9}, {123, 5 << 20}, {bytes.size() - 5, 5}, {0, bytes.size()}}) {
    std::string some(size, '\0');
    ASSERT_TRUE(read->Read(at, some.data(), size).ok());
    EXPECT_TRUE(some == bytes.substr(at, size)) << at;
  }
}

TEST(S3FilesTest, ADirectoryOfMoreThanOnePageIsListedWhole) {
  const auto files = NewFiles();
  const std::string root = NewRoot();
  constexpr int kFiles = 1005;
  for (int i = 0; i < kFiles; ++i) {
    ASSERT_TRUE(CreateExclusive(*files, absl::StrCat(root, "/f", i, "&<>"), "x").ok());
  }
  ASSERT_TRUE(CreateExclusive(*files, root + "/d/e", "xy").ok());
  const auto entries = files->List(root).value();
  ASSERT_EQ(entries.size(), kFiles + 1u);
  EXPECT_EQ(entries[0].name, "d");
  EXPECT_EQ(entries[0].kind, FileKind::kDirectory);
  EXPECT_EQ(entries[1].name, "f0&<>");
  EXPECT_EQ(entries[1].size, 1u);
  ASSERT_TRUE(RemoveAll(*files, root).ok());
  EXPECT_TRUE(absl::IsNotFound(files->List(root).status()));
}

TEST(S3FilesTest, OfWritersWhoRaceForAFileOneWins) {
  const auto files = NewFiles();
  for (const size_t size : {size_t{5}, kPart + 5}) {
    const std::string path = NewRoot() + "/DONE";
    std::atomic<int> won = 0, lost = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        const absl::Status made =
            CreateExclusive(*files, path, std::string(size, static_cast<char>('0' + t)));
        if (made.ok()) ++won;
        if (absl::IsAlreadyExists(made)) ++lost;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(won, 1) << size;
    EXPECT_EQ(lost, 3) << size;
    EXPECT_EQ(ReadFile(*files, path)->size(), size);
  }
}

TEST(S3FilesTest, AnUploadWhoseWriterDiedIsInvisibleUntilItsDirectoryIsRemoved) {
  const auto files = NewFiles();
  const std::string root = NewRoot(), directory = root + "/step-1";
  const std::string key = directory.substr(std::string("s3://checkpoints/").size());
  const auto client = Client();
  const std::string upload = client->BeginUpload(S3Server::kBucket, key + "/share", "w").value();
  ASSERT_TRUE(client->PutPart(S3Server::kBucket, key + "/share", upload, 1, Bytes(kPart)).ok());
  EXPECT_TRUE(absl::IsNotFound(files->Stat(directory + "/share").status()));
  const auto entries = files->List(root).value();
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].name, "step-1");
  EXPECT_TRUE(files->List(directory)->empty());
  ASSERT_TRUE(RemoveAll(*files, directory).ok());
  EXPECT_TRUE(client->ListUploads(S3Server::kBucket, key, {})->uploads.empty());
  EXPECT_TRUE(absl::IsNotFound(files->List(root).status()));
}

TEST(S3FilesTest, AFileThatIsNotClosedLeavesNothing) {
  const auto files = NewFiles();
  const std::string root = NewRoot();
  {
    auto file = files->Create(root + "/a", CreateMode::kTruncate).value();
    ASSERT_TRUE(file->Append(Bytes(2 * kPart + 1)).ok());
  }
  EXPECT_TRUE(absl::IsNotFound(files->List(root).status()));
}

TEST(S3FilesTest, AFileThatIsReplacedWhileItIsReadIsDataLoss) {
  const auto files = NewFiles();
  const std::string path = NewRoot() + "/a";
  ASSERT_TRUE(WriteFileAtomically(*files, path, Bytes(3 << 20)).ok());
  const auto file = files->Open(path).value();
  char byte;
  ASSERT_TRUE(file->Read(0, &byte, 1).ok());
  ASSERT_TRUE(WriteFileAtomically(*files, path, Bytes(4 << 20)).ok());
  const absl::Status read = file->Read(2 << 20, &byte, 1);
  EXPECT_EQ(read.code(), absl::StatusCode::kDataLoss) << read;
  EXPECT_TRUE(absl::StrContains(read.message(), "was replaced while it was read")) << read;
}

TEST(S3FilesTest, WhatAnObjectStoreCannotDoIsRefused) {
  const auto files = NewFiles();
  const std::string root = NewRoot();
  EXPECT_EQ(files->Create(root + "/a", CreateMode::kAppend).status().code(),
            absl::StatusCode::kUnimplemented);
  EXPECT_EQ(files->Rename(root + "/a", root + "/b").code(), absl::StatusCode::kUnimplemented);
}

// Every operation says the same about a store that cannot be used.
void ExpectEveryOperationFails(Files& files, const std::string& root, absl::StatusCode code,
                               const char* why) {
  const std::vector<absl::Status> all = {
      files.Stat(root + "/a").status(), files.List(root).status(),
      files.Open(root + "/a").status(), CreateExclusive(files, root + "/a", "x"),
      files.Remove(root + "/a"),        RemoveAll(files, root)};
  for (const absl::Status& status : all) {
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), why)) << status;
    EXPECT_FALSE(absl::StrContains(status.message(), S3Server::kSecret)) << status;
  }
}

TEST(S3FilesTest, AMissingBucketIsNoEmptyDirectory) {
  const auto files = NewFiles();
  ExpectEveryOperationFails(*files, "s3://no-such-bucket/x", absl::StatusCode::kFailedPrecondition,
                            "there is no such bucket: create it");
}

TEST(S3FilesTest, WrongKeysAreNamedAsSuch) {
  S3Options options = Server().client_options();
  options.credentials = FixedCredentials({S3Server::kKeyId, "another", ""});
  S3Files wrong_secret(ClientWith(options), {});
  ExpectEveryOperationFails(wrong_secret, NewRoot(), absl::StatusCode::kPermissionDenied,
                            "the secret key is not the one of this access key");
  options.credentials = FixedCredentials({"nobody", S3Server::kSecret, ""});
  S3Files wrong_key(ClientWith(options), {});
  ExpectEveryOperationFails(wrong_key, NewRoot(), absl::StatusCode::kPermissionDenied,
                            "the store knows no such access key");
}

TEST(S3FilesTest, AnotherRegionIsNamed) {
  S3Options options = Server().client_options();
  options.region = "eu-central-1";
  S3Files files(ClientWith(options), {});
  ExpectEveryOperationFails(files, NewRoot(), absl::StatusCode::kFailedPrecondition, "region");
}

class SkewedClock final : public Clock {
 public:
  absl::Time Monotonic() const override { return Clock::Real().Monotonic(); }
  absl::Time Wall() const override { return Clock::Real().Wall() + absl::Hours(2); }
};

TEST(S3FilesTest, AClockThatIsWrongIsNamed) {
  const SkewedClock clock;
  S3Options options = Server().client_options();
  S3Files files(std::make_unique<S3Client>(options, std::make_unique<CurlTransport>(CurlOptions()),
                                           clock, [](absl::Duration) {}),
                {});
  ExpectEveryOperationFails(files, NewRoot(), absl::StatusCode::kFailedPrecondition,
                            "this machine's clock differs from the store's by 2h");
}

TEST(S3FilesTest, AStoreThatIsDownIsUnavailableAfterTheLastTryAndWorksWhenItIsBack) {
  auto server = S3Server::Start().value();
  S3Files files(ClientWith(server->client_options()), {});
  const std::string path = NewRoot() + "/a";
  server->Kill();
  const absl::Status down = WriteFileAtomically(files, path, "x");
  EXPECT_EQ(down.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(absl::StrContains(down.message(), "given up after 3 tries")) << down;
  ASSERT_TRUE(server->Restart().ok());
  EXPECT_TRUE(WriteFileAtomically(files, path, "x").ok());
  EXPECT_EQ(ReadFile(files, path).value(), "x");
}

// The store forgets the keys that it gave, as when they expire or somebody rotates them.
TEST(S3FilesTest, KeysThatTheStoreNoLongerTakesAreReadAnew) {
  auto server = S3Server::Start().value();
  const std::string keys = std::string(getenv("TEST_TMPDIR")) + "/credentials";
  const auto mount = [&keys](const std::string& id, const std::string& secret) {
    const std::string text = absl::StrCat("[default]\naws_access_key_id = ", id,
                                          "\naws_secret_access_key = ", secret, "\n");
    ASSERT_TRUE(WriteFileAtomically(FileSystem(), keys, text).ok());
  };
  mount(S3Server::kKeyId, S3Server::kSecret);
  S3Options options = server->client_options();
  options.credentials = std::make_shared<CredentialsCache>(
      MakeCredentialsSource(CredentialsFile{keys, "default"}, nullptr, FileSystem()),
      Clock::Real());
  S3Files files(ClientWith(options), {});
  const std::string root = NewRoot();
  ASSERT_TRUE(CreateExclusive(files, root + "/a", "x").ok());
  ASSERT_TRUE(server->RestartWithKeys({"renewed", "another-secret", ""}).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(CreateExclusive(files, root + "/b", "x")));
  mount("renewed", "another-secret");
  EXPECT_EQ(ReadFile(files, root + "/a").value_or("unreadable"), "x") << "asks by HEAD first";
  EXPECT_TRUE(CreateExclusive(files, root + "/b", "x").ok());
}

}  // namespace
}  // namespace muster
