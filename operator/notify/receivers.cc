#include "operator/notify/receivers.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/files/files.h"
#include "base/json.h"
#include "base/yaml/config_reader.h"
#include "base/yaml/yaml_adapter.h"
#include "re2/re2.h"

namespace muster::control {
namespace {

constexpr char kUrlForm[] = "want http://HOST[:PORT][/PATH] or https://HOST[:PORT][/PATH]";

class Reader {
 public:
  explicit Reader(const YamlDocument& document) : fields_(document) {}

  void ReadEndpoint(const Json& json, const std::string& path, Receiver& receiver) {
    if (!json.is_object()) return fields_.Fault(path, "want an object with url");
    fields_.RefuseOthers(json, path, {"authorizationFile", "caFile", "url"});
    static const LazyRE2 kUrl = {
        "(https?://(?:[A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.]+\\])(?::[0-9]{1,5})?)(/[!-~]*)?"};
    if (!RE2::FullMatch(Text(json, path, "url"), *kUrl, &receiver.origin, &receiver.path)) {
      fields_.Fault(absl::StrCat(path, ".url"), kUrlForm);
    }
    receiver.authorization_file = Text(json, path, "authorizationFile");
    receiver.ca_file = Text(json, path, "caFile");
    for (const auto& [name, file] : {std::pair("authorizationFile", receiver.authorization_file),
                                     std::pair("caFile", receiver.ca_file)}) {
      if (!file.empty() && file[0] != '/') {
        fields_.Fault(absl::StrCat(path, ".", name), "want an absolute path");
      }
    }
  }

  Receiver ReadReceiver(const Json& json, const std::string& path) {
    Receiver receiver;
    if (!json.is_object()) {
      fields_.Fault(path, "want an object with name, and webhook or alertmanager");
      return receiver;
    }
    fields_.RefuseOthers(json, path, {"alertmanager", "name", "webhook"});
    static const LazyRE2 kName = {"[a-z0-9]([-a-z0-9]*[a-z0-9])?"};
    receiver.name = Text(json, path, "name");
    if (receiver.name.size() > 63 || !RE2::FullMatch(receiver.name, *kName)) {
      fields_.Fault(absl::StrCat(path, ".name"),
                    "want at most 63 of a-z, 0-9 and -, as in team-mail");
    }
    const bool webhook = json.contains("webhook");
    if (webhook == json.contains("alertmanager")) {
      fields_.Fault(path, "want either webhook or alertmanager");
      return receiver;
    }
    const std::string field = webhook ? "webhook" : "alertmanager";
    receiver.kind = webhook ? Receiver::Kind::kWebhook : Receiver::Kind::kAlertmanager;
    ReadEndpoint(json[field], absl::StrCat(path, ".", field), receiver);
    while (!webhook && absl::EndsWith(receiver.path, "/")) receiver.path.pop_back();
    if (!webhook) receiver.path += "/api/v2/alerts";
    if (receiver.path.empty()) receiver.path = "/";
    return receiver;
  }

  ConfigReader& fields() { return fields_; }

 private:
  // Returns an empty string in place of none.
  std::string Text(const Json& object, const std::string& path, const std::string& name) {
    return fields_.Text(object, path, name).value_or("");
  }

  ConfigReader fields_;
};

}  // namespace

absl::StatusOr<std::vector<Receiver>> ParseReceivers(absl::string_view text) {
  const YamlDocument document = ParseYaml(text);
  Reader reader(document);
  std::vector<Receiver> receivers;
  if (!document.readable) return absl::InvalidArgumentError("the list of receivers is not YAML");
  if (document.json.is_null()) return receivers;
  if (!document.json.is_array()) {
    return absl::InvalidArgumentError("want a list of receivers, each with a name");
  }
  std::set<std::string> names;
  for (size_t i = 0; i < document.json.size(); ++i) {
    const std::string path = absl::StrCat("[", i, "]");
    receivers.push_back(reader.ReadReceiver(document.json[i], path));
    if (!names.insert(receivers.back().name).second) {
      reader.fields().Fault(absl::StrCat(path, ".name"), "is taken by a receiver before it");
    }
  }
  if (receivers.size() > kMaxReceivers) {
    reader.fields().Fault("", absl::StrCat("want at most ", kMaxReceivers, " receivers"));
  }
  if (absl::Status status = reader.fields().Result(); !status.ok()) return status;
  return receivers;
}

absl::StatusOr<std::vector<Receiver>> LoadReceivers(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFile(FileSystem(), path);
  if (!text.ok()) return absl::InvalidArgumentError(text.status().message());
  absl::StatusOr<std::vector<Receiver>> receivers = ParseReceivers(*text);
  if (receivers.ok()) return receivers;
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", receivers.status().message()));
}

std::vector<std::string> ReceiverNames(const std::vector<Receiver>& receivers) {
  std::vector<std::string> names;
  for (const Receiver& receiver : receivers) names.push_back(receiver.name);
  return names;
}

}  // namespace muster::control
