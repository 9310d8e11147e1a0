#include "cli/simulate/jobs_svg.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/simulate/svg.h"

namespace muster::cli {
namespace {

constexpr size_t kMostJobs = 60;
constexpr double kWidth = 900, kLeft = 210, kRight = 20, kTop = 44, kRow = 20, kBar = 14;
constexpr double kBottom = 44;

double At(const SimReport& report, double seconds) {
  return kLeft + (kWidth - kLeft - kRight) * seconds / report.makespan;
}

size_t QueueOf(const SimReport& report, const std::string& queue) {
  const auto found = std::find(report.queues.begin(), report.queues.end(), queue);
  return found - report.queues.begin();
}

std::string Rect(double x, double y, double width, double height, const char* colour) {
  return absl::StrFormat("<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' fill='%s'/>\n", x, y,
                         std::max(width, 0.5), height, colour);
}

// Describes the request, as in "4 x 8 GPUs" or "1 to 4 x 8 GPUs".
std::string Size(const control::GangRequest& request) {
  const std::string workers = request.min < request.max
                                  ? absl::StrCat(request.min, " to ", request.max)
                                  : absl::StrCat(request.max);
  return request.per_worker.gpus > 0 ? absl::StrCat(workers, " x ", request.per_worker.gpus)
                                     : workers;
}

}  // namespace

std::string JobsSvg(const SimReport& report, const std::vector<SimJob>& jobs,
                    absl::string_view title) {
  const size_t shown = std::min(jobs.size(), kMostJobs);
  const double floor = kTop + kRow * static_cast<double>(shown);
  const std::string which =
      shown < jobs.size() ? absl::StrCat(title, ": the first ", shown, " of ", jobs.size(), " jobs")
                          : std::string(title);
  std::string out = SvgHead(kWidth, floor + kBottom, 12, which);
  if (report.makespan <= 0 || shown == 0) return out + "</svg>\n";
  std::vector<double> until(shown, report.makespan);  // the end of its last span
  for (const TrainingSpan& span : report.spans) {
    if (span.job < shown) until[span.job] = span.to;
  }
  for (size_t i = 0; i < shown; ++i) {
    const control::QueuedJob& job = jobs[i].job;
    const double y = kTop + kRow * static_cast<double>(i);
    const double submitted = absl::ToDoubleSeconds(job.created - jobs.front().job.created);
    out +=
        SvgLabel(kLeft - 10, y + kBar - 3, "end", absl::StrCat(job.name, "  ", Size(job.request)));
    out += Rect(At(report, submitted), y + kBar / 2 - 1,
                At(report, until[i]) - At(report, submitted), 2, "#b4b4ae");
    out += Rect(At(report, submitted) - 0.75, y + 2, 1.5, kBar - 4, "#8a8a84");
  }
  for (const TrainingSpan& span : report.spans) {
    if (span.job >= shown) continue;
    const control::QueuedJob& job = jobs[span.job].job;
    const double height = kBar * span.workers / job.request.max;
    const double y = kTop + kRow * static_cast<double>(span.job) + (kBar - height) / 2;
    out += Rect(At(report, span.from), y, At(report, span.to) - At(report, span.from), height,
                SvgColour(QueueOf(report, job.queue)));
  }
  double x = kLeft;
  for (size_t q = 0; q < std::min(report.queues.size(), kSvgColours); ++q) {
    out += Rect(x, 18, 10, 10, SvgColour(q)) + SvgLabel(x + 15, 27, "start", report.queues[q]);
    x += 40 + 7.0 * static_cast<double>(report.queues[q].size());
  }
  return out + SvgTimeAxis(report.makespan, kLeft, kWidth - kRight, floor) + "</svg>\n";
}

}  // namespace muster::cli
