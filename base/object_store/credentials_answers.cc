#include "base/object_store/credentials_answers.h"

#include <algorithm>
#include <map>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/json.h"
#include "base/json_fields.h"
#include "base/object_store/s3_answers.h"
#include "base/object_store/xml_reader.h"
#include "base/status_macros.h"

namespace muster {
namespace {

constexpr size_t kMostKeyBytes = size_t{16} << 10;  // AWS's tokens have up to some KiB

bool IsPlain(std::string_view text) {
  return text.size() <= kMostKeyBytes && std::all_of(text.begin(), text.end(), absl::ascii_isgraph);
}

absl::Status CheckKeys(const S3Credentials& keys) {
  if (keys.key_id.empty()) return absl::InvalidArgumentError("there is no access key id in it");
  if (keys.secret.empty()) return absl::InvalidArgumentError("there is no secret key in it");
  if (IsPlain(keys.key_id) && IsPlain(keys.secret) && IsPlain(keys.session_token)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError("it has keys with characters that no key has");
}

absl::StatusOr<ExpiringCredentials> Checked(ExpiringCredentials read, const std::string& expires) {
  MUSTER_RETURN_IF_ERROR(CheckKeys(read.keys));
  if (expires.empty()) return read;
  std::string ignored;
  if (absl::ParseTime(absl::RFC3339_full, expires, &read.expires, &ignored)) return read;
  return absl::InvalidArgumentError(
      absl::StrCat("it says that they end at \"", Printable(expires), "\", which is no time"));
}

absl::Status Refusal(int status, const std::string& code, const std::string& message) {
  const std::string text =
      absl::StrCat("it answered ", status, code.empty() ? "" : absl::StrCat(" ", Printable(code)),
                   message.empty() ? "" : absl::StrCat(": ", Printable(message)));
  const bool passes = status >= 500 || status == 408 || status == 429 ||
                      absl::StartsWith(code, "Throttling") || code == "RequestLimitExceeded" ||
                      code == "IDPCommunicationError";
  return passes ? absl::UnavailableError(text) : absl::PermissionDeniedError(text);
}

bool IsGood(const HttpAnswer& answer) { return answer.status >= 200 && answer.status < 300; }

absl::Status StsRefusal(const HttpAnswer& answer) {
  const absl::StatusOr<XmlElement> root = ReadXml(answer.body);
  const XmlElement* const error = root.ok() ? root->Find("Error") : nullptr;
  if (error == nullptr) return Refusal(answer.status, "", "");
  return Refusal(answer.status, error->TextOf("Code"), error->TextOf("Message"));
}

std::string Trimmed(std::string_view text) {
  return std::string(absl::StripAsciiWhitespace(absl::string_view(text.data(), text.size())));
}

}  // namespace

absl::StatusOr<ExpiringCredentials> ReadStsAnswer(const HttpAnswer& answer) {
  if (!IsGood(answer)) return StsRefusal(answer);
  MUSTER_ASSIGN_OR_RETURN(const XmlElement root, ReadXml(answer.body));
  const XmlElement* const result = root.Find("AssumeRoleWithWebIdentityResult");
  const XmlElement* const keys = result == nullptr ? nullptr : result->Find("Credentials");
  if (keys == nullptr) return absl::InvalidArgumentError("it answered without credentials");
  return Checked({{Trimmed(keys->TextOf("AccessKeyId")), Trimmed(keys->TextOf("SecretAccessKey")),
                   Trimmed(keys->TextOf("SessionToken"))}},
                 Trimmed(keys->TextOf("Expiration")));
}

absl::StatusOr<ExpiringCredentials> ReadAgentAnswer(const HttpAnswer& answer) {
  const absl::StatusOr<Json> json = ParseJson(answer.body);
  if (!IsGood(answer)) {
    if (!json.ok()) return Refusal(answer.status, "", answer.body);
    return Refusal(answer.status, StringField(*json, "code"), StringField(*json, "message"));
  }
  // The message of a parser may quote a key.
  if (!json.ok()) return absl::InvalidArgumentError("it answered something else than JSON");
  return Checked({{StringField(*json, "AccessKeyId"), StringField(*json, "SecretAccessKey"),
                   StringField(*json, "Token")}},
                 StringField(*json, "Expiration"));
}

absl::StatusOr<S3Credentials> ReadCredentialsFile(std::string_view text,
                                                  const std::string& profile) {
  std::map<std::string, std::string> values;
  bool found = false, inside = false;
  const absl::string_view all(text.data(), text.size());
  for (const absl::string_view whole : absl::StrSplit(all, '\n')) {
    const absl::string_view line = absl::StripAsciiWhitespace(whole);
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    if (line.front() == '[') {
      const absl::string_view name = line.substr(1, line.find(']') - 1);
      inside = absl::StripAsciiWhitespace(name) == profile;
      found = found || inside;
      continue;
    }
    const size_t equals = line.find('=');
    if (!inside || equals == absl::string_view::npos) continue;
    const std::string name(absl::StripAsciiWhitespace(line.substr(0, equals)));
    values[absl::AsciiStrToLower(name)] =
        std::string(absl::StripAsciiWhitespace(line.substr(equals + 1)));
  }
  if (!found) {
    return absl::NotFoundError(
        absl::StrCat("there is no section [", Printable(profile), "] in it"));
  }
  S3Credentials keys = {values["aws_access_key_id"], values["aws_secret_access_key"],
                        values["aws_session_token"]};
  MUSTER_RETURN_IF_ERROR(CheckKeys(keys));
  return keys;
}

absl::StatusOr<std::string> ReadToken(std::string_view text) {
  std::string token = Trimmed(text);
  if (token.empty()) return absl::InvalidArgumentError("it is empty");
  if (IsPlain(token)) return token;
  return absl::InvalidArgumentError("it is no token: a token is one line of plain characters");
}

}  // namespace muster
