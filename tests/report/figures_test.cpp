#include "report/figures.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "report/svg.hpp"

namespace omnio::report {
namespace {

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

const Figure& named(const std::vector<Figure>& figures, std::string_view name) {
  for (const Figure& figure : figures) {
    if (figure.name == name) return figure;
  }
  throw std::runtime_error(fmt::format("no figure {}", name));
}

TEST(Svg, EscapesTextOfAnyBytes) {
  EXPECT_EQ(xmlText("<a href=\"x\">&"), "&lt;a href=&quot;x&quot;&gt;&amp;");
  EXPECT_EQ(xmlText("\x1b[31m\xff"), "\\x1B[31m\\xFF");
  EXPECT_EQ(xmlText("\xEF\xBF\xBF"), "\xEF\xBF\xBD");
}

TEST(Svg, NumbersAreShort) {
  EXPECT_EQ(svgNumber(1), "1");
  EXPECT_EQ(svgNumber(1.256), "1.26");
  EXPECT_EQ(svgNumber(-0.001), "0");
  EXPECT_EQ(svgNumber(100), "100");
}

TEST(Svg, LongTextKeepsItsEnds) {
  const std::string path = "/scratch/project/a-long-directory/another-one/output.0007.dat";
  const std::string cut = textWithin(path, 200);
  EXPECT_LE(textWidth(cut), 200);
  EXPECT_TRUE(cut.starts_with("/scratch"));
  EXPECT_TRUE(cut.ends_with("0007.dat"));
  EXPECT_EQ(textWithin("short", 200), "short");
}

TEST(Svg, HasATitleAndClosesWhatIsOpen) {
  Svg svg(640, 100, "A & B", "text");
  svg.begin("g");
  svg.text(1, 2, "x");
  const std::string text = svg.finish();
  EXPECT_TRUE(has(text, "<title>A &amp; B</title>\n<desc>text</desc>"));
  EXPECT_TRUE(has(text, "width=\"160mm\" height=\"25mm\""));
  EXPECT_TRUE(text.ends_with("<text x=\"1\" y=\"2\">x</text>\n</g>\n</svg>\n"));
}

TEST(Figures, ARunWithoutCallsSaysSo) {
  const std::vector<Figure> figures = figuresOf({});
  ASSERT_EQ(figures.size(), 6U);
  for (const char* name :
       {"bandwidth.svg", "heatmap.svg", "sizes.svg", "times.svg", "pattern.svg", "offsets.svg"}) {
    EXPECT_TRUE(has(named(figures, name).svg, "data-empty=\"true\"")) << name;
    EXPECT_TRUE(has(named(figures, name).svg, ">The trace has no ")) << name;
  }
}

TEST(Figures, ShowTheSumsOfTheData) {
  PageData data;
  Activity& activity = data.activity;
  activity.end_ns = 2'000'000'000;
  activity.rows = {"rank 0", "rank 1"};
  activity.time.assign(std::size(kActivityKinds), TimeBins(2));
  activity.time[0].addTime(1, 0, 1'000'000'000);
  activity.read_bytes.spread(0, 0, 1'000'000'000, 5000);
  for (TimeBins& bins : activity.time) bins.widenTo(activity.read_bytes.binNs());
  activity.has_ranks = true;
  FileOffsets& file = activity.offsets.emplace_back();
  file.name = "/scratch/<script>alert(1)</script>";
  file.bytes_read = 5000;
  file.unplaced_read = {.calls = 1, .bytes = 1000};
  for (const User user : {kFirstUser, kFirstUser + 1}) {
    file.plane.add({.end_ns = 500'000'000,
                    .offset = user * 100'000ULL,
                    .span_bytes = 2000,
                    .bytes = 2000,
                    .user = user});
  }
  data.phases.files = {{.path = file.name}};
  data.phases.phases.resize(1);
  data.phases.phases[0].end_ns = 1'000'000'000;
  stats::Group& total = data.by_call.total;
  for (int i = 0; i < 3; ++i) total.read.size_bytes.add(4096);
  const std::vector<Figure> figures = figuresOf(data);
  EXPECT_TRUE(has(named(figures, "bandwidth.svg").svg, "Read: 5000 bytes. Written: 0 bytes."));
  EXPECT_TRUE(has(named(figures, "heatmap.svg").svg, "read 1000000000 ns"));
  EXPECT_TRUE(
      has(named(figures, "sizes.svg").svg, "data-from=\"4096\" data-to=\"8191\" data-count=\"3\""));
  const std::string& offsets = named(figures, "offsets.svg").svg;
  EXPECT_TRUE(has(offsets,
                  "data-kind=\"read\" data-bytes=\"5000\" data-unplaced-calls=\"1\" "
                  "data-unplaced-bytes=\"1000\""));
  EXPECT_TRUE(has(offsets, "data-phase=\"1\""));
  EXPECT_TRUE(has(offsets, ">Rank</text>"));
  EXPECT_TRUE(has(offsets, "&lt;script&gt;"));
  EXPECT_FALSE(has(offsets, "<script"));
}

TEST(Figures, OfManyFullFilesStaySmall) {
  PageData data;
  data.activity.end_ns = 511 * 1024;
  FileOffsets& file = data.activity.offsets.emplace_back();
  file.name = "/scratch/full";
  for (std::uint64_t bin = 0; bin < OffsetPlane::kMostBins; ++bin) {
    for (std::uint64_t row = 0; row < OffsetPlane::kMostRows; ++row) {
      const auto now_ns = static_cast<std::int64_t>(bin * 1024);
      file.plane.add({.start_ns = now_ns,
                      .end_ns = now_ns,
                      .offset = row * 512,
                      .span_bytes = 512,
                      .bytes = 512,
                      .user = static_cast<User>(kFirstUser + (bin * 7 + row * 13) % 4096)});
      file.bytes_read += 512;
    }
  }
  EXPECT_LE(named(figuresOf(data), "offsets.svg").svg.size(), std::size_t{3} << 20);
}

}  // namespace
}  // namespace omnio::report
