#include "cli/placement/topology_svg.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/json_fields.h"
#include "base/xml_text.h"

namespace muster::cli {
namespace {

constexpr double kWidth = 900;  // of a row of boxes, at most
constexpr double kCell = 7, kPad = 8, kHead = 18, kGap = 8;
constexpr int kMostCells = 16;
// The widths of characters of the captions, at most, in the fonts that browsers take.
constexpr double kBoldCharacter = 6.7, kCharacter = 5.8;
// The number of a domain's nodes drawn side by side.
constexpr int kNodesInRow = 4;
constexpr const char* kTaken = "#2f6fb3";
constexpr const char* kFree = "#dbe6f1";

int64_t Number(const Json& json, const char* part, const char* name) {
  return NumberField(ObjectField(json, part), name);
}

// A domain and its place in the drawing.
struct Box {
  const Json* domain = nullptr;
  bool is_node = false;
  std::vector<Box> children;
  double x = 0, y = 0, width = 0, height = 0;
};

int Cells(const Json& domain) {
  return static_cast<int>(
      std::clamp<int64_t>(Number(domain, "allocatable", "gpus"), 0, kMostCells));
}

// Sizes a node for two rows of cells, or one bar.
void SizeNode(Box& box) {
  const int columns = std::max(4, (Cells(*box.domain) + 1) / 2);
  box.width = columns * kCell + 3;
  box.height = 2 * kCell + 3;
}

// Places the children in rows from left to right; each row is as high as its highest box.
void Arrange(Box& box) {
  double x = kPad, y = kHead, row = 0;
  int in_row = 0;
  for (Box& child : box.children) {
    const bool full = child.is_node ? in_row == kNodesInRow : x + child.width + kPad > kWidth;
    if (in_row > 0 && full) {
      x = kPad;
      y += row + (child.is_node ? 3 : kGap);
      row = in_row = 0;
    }
    child.x = x;
    child.y = y;
    x += child.width + (child.is_node ? 3 : kGap);
    row = std::max(row, child.height);
    ++in_row;
    box.width = std::max(box.width, child.x + child.width + kPad);
  }
  box.height = y + row + kPad;
}

struct Caption {
  std::string name;
  std::string free;
  double width = 0;  // in pixels, at most
};

Caption CaptionOf(const Json& domain) {
  Caption caption;
  caption.name = StringField(domain, "level").empty() ? "cluster" : StringField(domain, "name");
  const int64_t gpus = Number(domain, "allocatable", "gpus");
  caption.free = gpus > 0 ? absl::StrCat(Number(domain, "free", "gpus"), " of ", gpus, " GPUs free")
                          : absl::StrCat(Number(domain, "free", "cpuMillis") / 1000, " CPUs free");
  caption.width = kBoldCharacter * static_cast<double>(caption.name.size()) +
                  kCharacter * static_cast<double>(caption.free.size() + 1);
  return caption;
}

Box MakeBox(const Json& domain) {
  Box box;
  box.domain = &domain;
  box.is_node = StringField(domain, "level") == "host";
  if (box.is_node) {
    SizeNode(box);
    return box;
  }
  for (const Json& child : ArrayField(domain, "children")) box.children.push_back(MakeBox(child));
  box.width = CaptionOf(domain).width + 2 * kPad;
  Arrange(box);
  return box;
}

std::string Rect(double x, double y, double width, double height, const char* style) {
  return absl::StrFormat("<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' %s/>", x, y, width,
                         height, style);
}

std::string Filled(const char* colour) { return absl::StrCat("fill='", colour, "'"); }

std::string NodeSvg(const Box& box, double x, double y) {
  const Json& node = *box.domain;
  const int64_t gpus = Number(node, "allocatable", "gpus");
  const bool usable = !node.contains("usable") || node["usable"] != 0;
  std::string out = absl::StrFormat(
      "<g><title>%s: %d of %d GPUs free%s</title>", EscapeXml(StringField(node, "name")),
      Number(node, "free", "gpus"), gpus, usable ? "" : ", not usable");
  out += Rect(x, y, box.width, box.height, "fill='#ffffff' stroke='#b8b8b2' stroke-width='0.6'");
  if (!usable) {
    out += Rect(x + 2, y + 2, box.width - 4, box.height - 4, "fill='#d9c9c4'");
  } else if (gpus == 0) {
    const double all = static_cast<double>(Number(node, "allocatable", "cpuMillis"));
    const double free = static_cast<double>(Number(node, "free", "cpuMillis"));
    const double part = all > 0 ? std::clamp(1 - free / all, 0.0, 1.0) : 0;
    out += Rect(x + 2, y + 2, box.width - 4, box.height - 4, Filled(kFree).c_str());
    out += Rect(x + 2, y + 2, (box.width - 4) * part, box.height - 4, Filled(kTaken).c_str());
  }
  const int cells = usable ? Cells(node) : 0;
  const int columns = std::max(1, (cells + 1) / 2);
  for (int i = 0; i < cells; ++i) {
    // If there are more GPUs than cells, each cell stands for its share of them.
    const bool taken = i >= Number(node, "free", "gpus") * cells / gpus;
    out += Rect(x + 2 + (i % columns) * kCell, y + 2 + (i / columns) * kCell, kCell - 1, kCell - 1,
                Filled(taken ? kTaken : kFree).c_str());
  }
  return out + "</g>\n";
}

std::string BoxSvg(const Box& box, double x, double y, int depth) {
  if (box.is_node) return NodeSvg(box, x, y);
  const Json& domain = *box.domain;
  const Caption caption = CaptionOf(domain);
  std::string out = Rect(x, y, box.width, box.height,
                         depth % 2 == 0 ? "rx='4' fill='#f6f6f2' stroke='#c8c8c2'"
                                        : "rx='4' fill='#fdfdfb' stroke='#c8c8c2'");
  out += absl::StrFormat("<text x='%.1f' y='%.1f'><tspan font-weight='bold'>%s</tspan> %s</text>\n",
                         x + kPad, y + 13, EscapeXml(caption.name), caption.free);
  for (const Box& child : box.children) out += BoxSvg(child, x + child.x, y + child.y, depth + 1);
  return out;
}

}  // namespace

std::string TopologySvg(const Json& page) {
  const Box box = MakeBox(page);
  const double width = box.width + 2 * kPad, height = box.height + 2 * kPad;
  return absl::StrFormat(
             "<svg xmlns='http://www.w3.org/2000/svg' width='%.0f' height='%.0f' "
             "viewBox='0 0 %.0f %.0f' font-family='sans-serif' font-size='10' fill='#40403c'>\n"
             "<rect width='100%%' height='100%%' fill='#fdfdfb'/>\n",
             width, height, width, height) +
         BoxSvg(box, kPad, kPad, 0) + "</svg>\n";
}

}  // namespace muster::cli
