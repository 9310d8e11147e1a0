// Reads answers of an object store, and of what hands out its keys, from any bytes: no crash,
// errors are short and plain text, keys can stand in a header, and the same bytes mean the same
// again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/time/time.h"
#include "base/object_store/aws_signature.h"
#include "base/object_store/credentials_answers.h"
#include "base/object_store/s3_answers.h"
#include "base/object_store/xml_reader.h"

namespace muster {
namespace {

constexpr size_t kMostError = 1000;

void CheckMessage(const absl::Status& status) {
  const auto message = status.message();
  if (message.size() > kMostError) std::abort();
  if (!std::all_of(message.begin(), message.end(), absl::ascii_isprint)) std::abort();
}

void CheckKeys(const absl::Status& status, const S3Credentials& keys) {
  CheckMessage(status);
  if (!status.ok()) return;
  if (keys.key_id.empty() || keys.secret.empty()) std::abort();
  for (const std::string& text : {keys.key_id, keys.secret, keys.session_token}) {
    if (!std::all_of(text.begin(), text.end(), absl::ascii_isgraph)) std::abort();
  }
}

void CheckSources(const std::string& bytes) {
  for (const int status : {200, 403, 500}) {
    const HttpAnswer answer = {status, {}, bytes};
    const auto sts = ReadStsAnswer(answer), agent = ReadAgentAnswer(answer);
    if (status != 200 && (sts.ok() || agent.ok())) std::abort();
    CheckKeys(sts.status(), sts.ok() ? sts->keys : S3Credentials());
    CheckKeys(agent.status(), agent.ok() ? agent->keys : S3Credentials());
  }
  const auto file = ReadCredentialsFile(bytes, "default");
  CheckKeys(file.status(), file.ok() ? *file : S3Credentials());
  const auto token = ReadToken(bytes);
  if (token.ok() && (token->empty() || ReadToken(*token).value() != *token)) std::abort();
}

void Check(const std::string& bytes) {
  CheckSources(bytes);
  const auto document = ReadXml(bytes);
  if (document.ok() && document->name.empty()) std::abort();
  const auto page = ParseObjectPage(bytes);
  if (page.ok() && ParseObjectPage(bytes)->objects.size() != page->objects.size()) std::abort();
  (void)ParseUploadPage(bytes);
  (void)ParseUploadId(bytes);
  (void)CheckCompleted(bytes);
  for (const int status : {200, 301, 400, 403, 404, 412, 503}) {
    const HttpAnswer answer = {
        status, {{"content-type", "application/xml"}, {"date", bytes}}, bytes};
    const S3Verdict verdict = JudgeAnswer(answer, absl::UnixEpoch());
    if (status != 200 && verdict.status.ok()) std::abort();
    CheckMessage(verdict.status);
  }
}

}  // namespace
}  // namespace muster

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  muster::Check(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
