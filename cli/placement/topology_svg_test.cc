#include "cli/placement/topology_svg.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::cli {
namespace {

using ::testing::HasSubstr;

int Count(const std::string& text, const std::string& what) {
  int count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

Json Node(const std::string& name, int gpus, int free, int usable) {
  return {{"level", "host"},
          {"name", name},
          {"nodes", 1},
          {"usable", usable},
          {"allocatable", {{"gpus", gpus}, {"cpuMillis", 8000}}},
          {"free", {{"gpus", free}, {"cpuMillis", 2000}}}};
}

TEST(TopologySvgTest, ACellForEachGpuDarkWhereItIsTaken) {
  const Json page = {
      {"level", ""},
      {"name", ""},
      {"allocatable", {{"gpus", 16}}},
      {"free", {{"gpus", 5}}},
      {"children",
       {{{"level", "leaf"},
         {"name", "l<0>"},
         {"allocatable", {{"gpus", 16}}},
         {"free", {{"gpus", 5}}},
         {"children", {Node("a", 8, 5, 1), Node("b", 8, 0, 1), Node("c", 8, 8, 0)}}}}}};
  const std::string svg = TopologySvg(page);
  EXPECT_EQ(Count(svg, "#2f6fb3"), 11);
  EXPECT_EQ(Count(svg, "#dbe6f1"), 5);
  EXPECT_THAT(svg, HasSubstr("l&lt;0&gt;</tspan> 5 of 16 GPUs free"));
  EXPECT_THAT(svg, HasSubstr("<title>c: 8 of 8 GPUs free, not usable</title>"));
  EXPECT_EQ(Count(svg, "<g>"), Count(svg, "</g>"));
}

TEST(TopologySvgTest, WithoutGpusTheShareOfCpus) {
  const std::string svg = TopologySvg({{"level", ""}, {"children", {Node("a", 0, 0, 1)}}});
  EXPECT_THAT(svg, HasSubstr("width='27.0' height='13.0' fill='#dbe6f1'"));
  EXPECT_THAT(svg, HasSubstr("width='20.2' height='13.0' fill='#2f6fb3'"));
}

// Regression: a rack's caption ran over its box into the next one.
TEST(TopologySvgTest, ABoxIsWideEnoughForItsCaption) {
  const auto rack = [](const std::string& name) {
    return Json{{"level", "leaf"},
                {"name", name},
                {"allocatable", {{"gpus", 1024}}},
                {"free", {{"gpus", 1024}}},
                {"children", {Node("a", 8, 5, 1)}}};
  };
  const auto width_of_second = [&](const std::string& name) {
    const std::string svg = TopologySvg({{"level", ""}, {"children", {rack(name), rack("other")}}});
    const size_t text = svg.find("other</tspan>");
    const size_t x = svg.rfind("<text x='", text) + 9;
    return std::stod(svg.substr(x)) - std::stod(svg.substr(svg.find("<text x='", 30) + 9));
  };
  const double longer = width_of_second("a-rack-with-a-long-name-of-40-characters");
  EXPECT_GT(longer, 40 * 6 + 21 * 5) << "its second box begins after the caption of the first";
  EXPECT_LT(width_of_second("rack"), longer);
}

TEST(TopologySvgTest, AnEmptyPageIsAnEmptyPicture) {
  EXPECT_THAT(TopologySvg(Json::object()), HasSubstr("</svg>"));
}

}  // namespace
}  // namespace muster::cli
