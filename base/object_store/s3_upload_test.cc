#include "base/object_store/s3_upload.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/object_store/credentials_cache.h"
#include "base/object_store/http_transport.h"

namespace muster {
namespace {

constexpr size_t kPart = 1000;

// A store that answers uploads. A part waits until as many are under way as the test says.
class Store final : public HttpTransport {
 public:
  struct State {
    Mutex mu;
    CondVar changed;
    size_t together MUSTER_GUARDED_BY(mu) = 1;            // parts wait for so many
    std::set<std::string> refused MUSTER_GUARDED_BY(mu);  // part numbers
    size_t under_way MUSTER_GUARDED_BY(mu) = 0;
    size_t most MUSTER_GUARDED_BY(mu) = 0;
    size_t bytes MUSTER_GUARDED_BY(mu) = 0;  // of the parts under way
    size_t most_bytes MUSTER_GUARDED_BY(mu) = 0;
    std::map<int, std::string> parts MUSTER_GUARDED_BY(mu);
    std::string completion MUSTER_GUARDED_BY(mu);
    bool aborted MUSTER_GUARDED_BY(mu) = false;
    size_t under_way_at_abort MUSTER_GUARDED_BY(mu) = 0;
  };
  explicit Store(State& state) : state_(state) {}

  absl::StatusOr<HttpAnswer> Send(const HttpRequest& request) override {
    MutexLock lock(state_.mu);
    if (request.method == "PUT") return PutPart(request);
    if (request.method == "DELETE") {
      state_.aborted = true;
      state_.under_way_at_abort = state_.under_way;
      return HttpAnswer{.status = 204};
    }
    if (request.method == "POST" && absl::StrContains(request.url, "uploadId=")) {
      state_.completion = std::string(request.body);
      return HttpAnswer{.status = 200,
                        .body =
                            "<CompleteMultipartUploadResult><ETag>\"e\"</ETag>"
                            "</CompleteMultipartUploadResult>"};
    }
    return HttpAnswer{.status = 200,
                      .body =
                          "<InitiateMultipartUploadResult><UploadId>u-1</UploadId>"
                          "</InitiateMultipartUploadResult>"};
  }

 private:
  absl::StatusOr<HttpAnswer> PutPart(const HttpRequest& request) MUSTER_REQUIRES(state_.mu) {
    const size_t at = request.url.find("partNumber=") + 11;
    const std::string number = request.url.substr(at, request.url.find('&', at) - at);
    ++state_.under_way;
    state_.bytes += request.body.size();
    state_.most = std::max(state_.most, state_.under_way);
    state_.most_bytes = std::max(state_.most_bytes, state_.bytes);
    state_.changed.NotifyAll();
    while (state_.most < state_.together) state_.changed.Wait(state_.mu);
    --state_.under_way;
    state_.bytes -= request.body.size();
    if (state_.refused.count(number) > 0) return HttpAnswer{.status = 403};
    state_.parts[std::stoi(number)] = std::string(request.body);
    return HttpAnswer{.status = 200, .headers = {{"etag", absl::StrCat("\"tag-", number, "\"")}}};
  }

  State& state_;
};

class S3UploadTest : public testing::Test {
 protected:
  std::unique_ptr<S3Upload> Upload(size_t parallel) {
    S3Options options;
    options.credentials = FixedCredentials({"id", "key", ""});
    auto client = std::make_shared<S3Client>(options, std::make_unique<Store>(store_),
                                             Clock::Real(), [](absl::Duration) {});
    return std::make_unique<S3Upload>(std::move(client), ObjectUri{"bucket", "file"},
                                      S3Upload::Options{.part_bytes = kPart, .parallel = parallel});
  }
  static std::string Bytes(size_t size) {
    std::string bytes(size, ' ');
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>('a' + i / kPart % 26);
    return bytes;
  }

  Store::State store_;
};

// With fewer at a time the parts would wait for ever.
TEST_F(S3UploadTest, FourPartsAreSentAtATimeAndCompletedInTheirOrder) {
  {
    MutexLock lock(store_.mu);
    store_.together = 4;
  }
  const std::string bytes = Bytes(10 * kPart + 7);
  const auto upload = Upload(4);
  ASSERT_TRUE(upload->Append(bytes).ok());
  ASSERT_TRUE(upload->Close().ok());
  MutexLock lock(store_.mu);
  EXPECT_EQ(store_.most, 4u);
  EXPECT_LE(store_.most_bytes, 4 * kPart);
  std::string stored;
  size_t found = 0;
  for (const auto& [number, part] : store_.parts) {
    stored += part;
    const size_t at = store_.completion.find(absl::StrCat("tag-", number), found);
    ASSERT_NE(at, std::string::npos) << number << " in " << store_.completion;
    found = at;
  }
  EXPECT_EQ(stored, bytes);
  EXPECT_FALSE(store_.aborted);
}

TEST_F(S3UploadTest, LargerPartsTakeNoMoreMemoryTogether) {
  const std::string bytes = Bytes(1005 * kPart);
  const auto upload = Upload(3);
  ASSERT_TRUE(upload->Append(bytes).ok());
  ASSERT_TRUE(upload->Close().ok());
  MutexLock lock(store_.mu);
  EXPECT_EQ(store_.parts[1001].size(), 2 * kPart);
  EXPECT_LE(store_.most_bytes, 3 * kPart);
}

TEST_F(S3UploadTest, APartThatIsRefusedEndsTheUploadOnceNoneIsUnderWay) {
  {
    MutexLock lock(store_.mu);
    store_.together = 3;
    store_.refused = {"2"};
  }
  const auto upload = Upload(3);
  upload->Append(Bytes(20 * kPart)).IgnoreError();
  const absl::Status closed = upload->Close();
  EXPECT_TRUE(absl::IsPermissionDenied(closed)) << closed;
  EXPECT_EQ(upload->Append("more").code(), absl::StatusCode::kFailedPrecondition);
  MutexLock lock(store_.mu);
  EXPECT_TRUE(store_.aborted);
  EXPECT_EQ(store_.under_way_at_abort, 0u);
  EXPECT_EQ(store_.completion, "");
  EXPECT_LT(store_.parts.size(), 20u) << "the rest is not sent";
}

TEST_F(S3UploadTest, AFileThatIsNotClosedIsGivenUp) {
  Upload(2)->Append(Bytes(5 * kPart)).IgnoreError();
  MutexLock lock(store_.mu);
  EXPECT_TRUE(store_.aborted);
  EXPECT_EQ(store_.under_way_at_abort, 0u);
}

}  // namespace
}  // namespace muster
