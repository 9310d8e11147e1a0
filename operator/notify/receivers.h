#ifndef MUSTER_OPERATOR_NOTIFY_RECEIVERS_H_
#define MUSTER_OPERATOR_NOTIFY_RECEIVERS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::control {

// A place to which the administrator lets alerts of jobs go. Jobs name it, and never see its URL,
// which may hold a secret: nothing here is logged except the name.
struct Receiver {
  enum class Kind { kWebhook, kAlertmanager };
  std::string name;
  Kind kind = Kind::kWebhook;
  std::string origin;  // scheme, host and port of its URL
  std::string path;    // the rest of it, beginning with a slash
  // A file with the value of the Authorization header, and one with the certificate authorities to
  // trust instead of the machine's; empty: none.
  std::string authorization_file;
  std::string ca_file;
};

inline constexpr size_t kMaxReceivers = 16;

// Parses the administrator's list of receivers, which is YAML:
//
//   - name: chat
//     webhook: {url: "https://chat.example/hook", authorizationFile: /etc/muster/chat}
//   - name: mail
//     alertmanager: {url: "http://alertmanager.monitoring:9093"}
//
// The error lists every fault with its line, without the value of a URL. Pure.
absl::StatusOr<std::vector<Receiver>> ParseReceivers(absl::string_view text);

// Reads the list from a file. The error names the file and the faults.
absl::StatusOr<std::vector<Receiver>> LoadReceivers(const std::string& path);

std::vector<std::string> ReceiverNames(const std::vector<Receiver>& receivers);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_NOTIFY_RECEIVERS_H_
