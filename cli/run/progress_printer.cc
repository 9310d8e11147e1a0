#include "cli/run/progress_printer.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace muster::cli {
namespace {

constexpr absl::Duration kPlainLineEvery = absl::Seconds(5);

// Such a terminal, as an editor's, shows the sequences that redraw a line as they are.
bool IsDumb() {
  const char* kind = std::getenv("TERM");
  return kind == nullptr || std::string_view(kind) == "dumb" || *kind == '\0';
}

int TerminalColumns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 100;
}

}  // namespace

ProgressPrinter::ProgressPrinter(bool quiet)
    : quiet_(quiet), terminal_(isatty(STDERR_FILENO) != 0 && !IsDumb()) {}

void ProgressPrinter::Show(const ProgressView& view, absl::Time now) {
  if (quiet_) return;
  if (terminal_) {
    std::fprintf(stderr, "\r\033[K%s", TerminalLine(view, TerminalColumns() - 1).c_str());
    std::fflush(stderr);
    drawn_ = true;
    return;
  }
  const bool same = view.state == last_state_ && view.why == last_why_;
  if (same && (now - last_ < kPlainLineEvery || view.step == last_step_)) return;
  std::fprintf(stderr, "%s\n", PlainLine(view).c_str());
  last_ = now;
  last_state_ = view.state;
  last_why_ = view.why;
  last_step_ = view.step;
}

void ProgressPrinter::Clear() {
  if (drawn_) std::fprintf(stderr, "\r\033[K");
  drawn_ = false;
}

}  // namespace muster::cli
