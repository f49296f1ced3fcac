#include "heatskin/study/report.h"

#include <gtest/gtest.h>

namespace heatskin::study {
namespace {

StudyRow someRow() {
  StudyRow row;
  row.name = "a";
  row.work = {{"mesh", {{"name", "x, \"y\""}}}, {"options", {"p=1", "q=2"}}};
  row.values = {{"psnr", 31.25}, {"none", nullptr}};
  row.timing = {{"seconds", 2.5}};
  return row;
}

TEST(RowsCsv, QuotesAndFlattens) {
  StudyRow failed = someRow();
  failed.name = "b";
  failed.values = Json::object();
  failed.error = "no\nmemory";
  const std::vector<StudyRow> rows = {someRow(), failed};
  EXPECT_EQ(rowsCsv(rows, true, false),
            "run,mesh.name,options,psnr,none,error\n"
            "a,\"x, \"\"y\"\"\",\"[\"\"p=1\"\",\"\"q=2\"\"]\",31.25,,\n"
            "b,\"x, \"\"y\"\"\",\"[\"\"p=1\"\",\"\"q=2\"\"]\",,,\"no\nmemory\"\n");
  EXPECT_NE(rowsCsv(rows, false, true).find(",seconds,"), std::string::npos);
}

TEST(MarkdownTable, EscapesBars) {
  EXPECT_EQ(markdownTable({"", {"a", "b"}, {{"x|y", "1"}}}), "| a | b |\n|---|---:|\n| x\\|y | 1 |\n");
}

class Sample final : public Study {
 public:
  explicit Sample(bool timed) : timed_(timed) {}
  std::string_view name() const override { return "sample"; }
  std::string_view summary() const override { return ""; }
  bool timed() const override { return timed_; }
  Result<std::vector<StudyRun>> plan(const StudySettings&) const override { return std::vector<StudyRun>(); }
  Result<StudyOutcome> execute(const Json&, const RunContext&) const override { return StudyOutcome(); }
  StudyReport report(std::span<const StudyRow>, const std::filesystem::path&) const override {
    StudyReport report;
    report.title = "Sample";
    report.figure = "<svg/>";
    return report;
  }

 private:
  bool timed_;
};

// What depends on the moment is apart, unless a study is about it.
TEST(StudyFiles, KeepTimesApart) {
  StudyRow slow = someRow();
  slow.timing["seconds"] = 99.5;
  const std::vector<StudyRow> rows = {someRow()}, slow_rows = {slow};
  const auto files = studyFiles(Sample(false), rows, "", "heatskin"),
             others = studyFiles(Sample(false), slow_rows, "", "heatskin");
  ASSERT_EQ(files.size(), 5u);
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(files[i], others[i]) << files[i].first;
  EXPECT_EQ(files[4].first, "sample_timing.csv");
  EXPECT_NE(files[4], others[4]);
  const auto timed = studyFiles(Sample(true), slow_rows, "", "heatskin");
  ASSERT_EQ(timed.size(), 4u);
  EXPECT_NE(timed[0].second.find("99.5"), std::string::npos);
  EXPECT_NE(timed[1].second.find("99.5"), std::string::npos);
}

// Rows of several builds may be merged, but not unseen.
TEST(StudyFiles, NameThePrograms) {
  std::vector<StudyRow> rows = {someRow(), someRow(), someRow()};
  rows[0].program = rows[2].program = "1 AVX2 bbb";
  rows[1].program = "1 AVX2 aaa";
  EXPECT_EQ(programsOf(rows), (std::vector<std::string>{"1 AVX2 aaa", "1 AVX2 bbb"}));
  const auto files = studyFiles(Sample(false), rows, "", "heatskin");
  EXPECT_EQ(Json::parse(files[0].second)["programs"], Json({"1 AVX2 aaa", "1 AVX2 bbb"}));
  EXPECT_NE(files[2].second.find("heatskin 1 AVX2 aaa; 1 AVX2 bbb."), std::string::npos);
  rows[1].program = "";
  EXPECT_EQ(programsOf(rows).size(), 2u) << "a row from before rows named their program";
}

TEST(StudyFiles, ErrorsAreAColumn) {
  StudyRow failed = someRow();
  failed.error = "the time limit was reached";
  const std::vector<StudyRow> rows = {someRow(), failed};
  const auto files = studyFiles(Sample(false), rows, "", "heatskin");
  const Json json = Json::parse(files[0].second);
  EXPECT_TRUE(json["rows"][0]["error"].is_null());
  EXPECT_EQ(json["rows"][1]["error"], "the time limit was reached");
  EXPECT_NE(files[2].second.find("Runs that failed"), std::string::npos);
}

}  // namespace
}  // namespace heatskin::study
