// Tests lists that a store sends in pages. tests/object_store tests the rest on a real store.
#include "base/object_store/s3_files.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/object_store/credentials.h"
#include "base/object_store/credentials_cache.h"
#include "base/object_store/http_transport.h"
#include "base/object_store/s3_client.h"
#include "base/testing/manual_clock.h"

namespace muster {
namespace {

enum class Mood { kRepeatsToken, kAlternatesTokens, kSendsEmptyPages };

// Has one object, and a list without an end.
class EndlessStore final : public HttpTransport {
 public:
  EndlessStore(Mood mood, bool uploads) : mood_(mood), uploads_(uploads) {}
  absl::StatusOr<HttpAnswer> Send(const HttpRequest& request) override {
    ++asked_;
    const bool of_uploads = absl::StrContains(request.url, "uploads");
    if (request.method != "GET") return HttpAnswer{.status = 204};
    std::string token = "t";
    if (mood_ == Mood::kAlternatesTokens) absl::StrAppend(&token, asked_ % 3);
    if (mood_ == Mood::kSendsEmptyPages) absl::StrAppend(&token, asked_);
    const std::string key = mood_ == Mood::kSendsEmptyPages ? "" : "<Key>d/a</Key>";
    if (of_uploads) return Answer(Uploads(token, key));
    return Answer(Objects(token, key));
  }

 private:
  static HttpAnswer Answer(const std::string& body) { return {.status = 200, .body = body}; }
  std::string Objects(const std::string& token, const std::string& key) const {
    if (uploads_) return "<ListBucketResult/>";
    return absl::StrCat(
        "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>", token,
        "</NextContinuationToken>",
        key.empty() ? "" : absl::StrCat("<Contents>", key, "<Size>7</Size></Contents>"),
        "</ListBucketResult>");
  }
  std::string Uploads(const std::string& token, const std::string& key) const {
    if (!uploads_) return "<ListMultipartUploadsResult/>";
    return absl::StrCat(
        "<ListMultipartUploadsResult><IsTruncated>true</IsTruncated><NextKeyMarker>", token,
        "</NextKeyMarker><NextUploadIdMarker>u</NextUploadIdMarker>",
        key.empty() ? "" : absl::StrCat("<Upload>", key, "<UploadId>u</UploadId></Upload>"),
        "</ListMultipartUploadsResult>");
  }

  const Mood mood_;
  const bool uploads_;
  int asked_ = 0;
};

TEST(S3FilesTest, AStoreThatListsWithoutEndIsNotFollowed) {
  for (const Mood mood : {Mood::kRepeatsToken, Mood::kAlternatesTokens, Mood::kSendsEmptyPages}) {
    for (const bool uploads : {false, true}) {
      ManualClock clock;
      S3Options options;
      options.credentials = FixedCredentials({"id", "key", ""});
      S3Files files(
          std::make_unique<S3Client>(options, std::make_unique<EndlessStore>(mood, uploads), clock,
                                     [&](absl::Duration wait) { clock.Advance(wait); }),
          {});
      const std::string want = mood == Mood::kSendsEmptyPages
                                   ? "it sent pages without entries"
                                   : "it gave a continuation token twice";
      const absl::Status listed = files.List("s3://bucket/d").status();
      EXPECT_TRUE(absl::StrContains(listed.message(), want)) << listed;
      const absl::Status removed = RemoveAll(files, "s3://bucket/d");
      EXPECT_TRUE(absl::StrContains(removed.message(), want)) << removed;
    }
  }
}

}  // namespace
}  // namespace muster
