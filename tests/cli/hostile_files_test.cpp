// Every file of the hostile collection through the real program: right exit code, one-line errors, bounded
// time and memory, no trace left behind, no number that is not one.

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "heatskin/io/image.h"

#include "support/assets.h"
#include "support/run_process.h"
#include "support/temporary_folder.h"

namespace heatskin::testing {
namespace {

using nlohmann::json;

constexpr std::size_t kMemoryLimit = std::size_t{2} << 30;                    // the issue's limit
const std::size_t kResidentLimit = std::size_t{sanitized() ? 2u : 1u} << 30;  // the collection's own limit

struct HostileFile {
  std::string name;
  std::string expect;     // "error", "warn" or "ok"
  bool may_warn = false;  // an error whose description accepts a warning instead
};

std::vector<HostileFile> hostileFiles(const json& table) {
  std::vector<HostileFile> files;
  for (const json& row : table) {
    const std::string should = row.at("should");
    bool may_warn = false;
    for (const char* offer : {"or warning", "or load", "or drop"}) {
      may_warn = may_warn || should.find(offer) != std::string::npos;
    }
    files.push_back({row.at("file"), row.at("expect"), may_warn});
  }
  return files;
}

/// Words that a number prints as when it is none, standing alone.
bool mentionsNonNumber(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (const std::string word : {"nan", "inf"}) {
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
      const bool starts = at == 0 || !is_word(text[at - 1]);
      const bool ends = at + word.size() == text.size() || !is_word(text[at + word.size()]);
      if (starts && ends) return true;
    }
  }
  return false;
}

/// Numbers that were not finite arrive as null (or as text).
bool hasNonNumbers(const json& value) {
  if (value.is_structured()) {
    return std::any_of(value.begin(), value.end(), [](const json& part) { return hasNonNumbers(part); });
  }
  if (value.is_number_float()) return !std::isfinite(value.get<double>());
  return value.is_null() || (value.is_string() && mentionsNonNumber(value.get<std::string>()));
}

/// "" when the outcome of `inspect` is what the file deserves, otherwise what is wrong.
std::string judge(const HostileFile& file, const ProcessOutcome& outcome, const std::string& report) {
  if (!outcome.started) return "the program could not be started";
  if (outcome.timed_out) return "it took longer than the time limit";
  if (outcome.signal_number != 0) return "it was ended by signal " + std::to_string(outcome.signal_number);
  if (outcome.peak_rss_bytes > kResidentLimit) {
    return "it used " + std::to_string(outcome.peak_rss_bytes >> 20) + " MiB";
  }
  if (outcome.exit_code == 3) {
    if (file.expect == "ok") return "it was refused: " + outcome.err;
    if (outcome.err.rfind("heatskin: error: ", 0) != 0) return "the error begins otherwise: " + outcome.err;
    if (std::count(outcome.err.begin(), outcome.err.end(), '\n') != 1 || outcome.err.back() != '\n') {
      return "the error is not one line: " + outcome.err;
    }
    if (outcome.err.find(file.name) == std::string::npos)
      return "the error does not name the file: " + outcome.err;
    if (!outcome.out.empty()) return "it wrote to stdout although it failed";
    if (!report.empty()) return "it left a report although it failed";
    return "";
  }
  if (outcome.exit_code != 0) return "exit code " + std::to_string(outcome.exit_code) + ": " + outcome.err;
  const json parsed = json::parse(report, nullptr, false);
  if (parsed.is_discarded() || !parsed.is_object()) return "the report is not JSON";
  if (hasNonNumbers(parsed)) return "the report contains nan, inf or null";
  if (mentionsNonNumber(outcome.out)) return "the output contains nan or inf";
  if (!parsed.contains("warnings") || !parsed["warnings"].is_array())
    return "the report has no list of warnings";
  const bool warned = !parsed["warnings"].empty();
  if (file.expect == "error" && !(file.may_warn && warned)) return "it was loaded";
  if (file.expect == "warn" && !warned) return "it was loaded without a warning";
  if (file.expect == "ok" && warned) return "it has a warning: " + parsed["warnings"][0].dump();
  return "";
}

ProcessOptions limits(const TemporaryFolder& folder) {
  ProcessOptions options;
  options.memory_limit_bytes = kMemoryLimit;
  options.folder = folder.path().string();
  options.environment = {{"TMPDIR", folder.path().string()}, {"NO_COLOR", "1"}};
  return options;
}

TEST(HostileFiles, EveryOneIsTreatedAsTheCollectionSays) {
  HEATSKIN_REQUIRE_ASSETS();
  const std::filesystem::path bad = assetsFolder() / "bad";
  std::ifstream stream(bad / "expected.json");
  const std::vector<HostileFile> files = hostileFiles(json::parse(stream));
  EXPECT_EQ(files.size(), 147u);
  std::size_t rendered = 0;
  for (const HostileFile& file : files) {
    SCOPED_TRACE(file.name);
    const TemporaryFolder folder;
    const std::string path = (bad / file.name).string();
    const ProcessOutcome inspected = runHeatskin({"inspect", path, "--json", "report.json"}, limits(folder));
    const bool has_report = std::filesystem::exists(folder.path() / "report.json");
    EXPECT_EQ(judge(file, inspected, has_report ? folder.read("report.json") : ""), "");
    EXPECT_EQ(folder.names(), has_report ? std::set<std::string>{"report.json"} : std::set<std::string>{});

    // What can be inspected can be drawn; what cannot is refused by `render` in the same way.
    const TemporaryFolder pictures;
    const ProcessOutcome drawn =
        runHeatskin({"render", path, "-o", "view.png", "--size", "48"}, limits(pictures));
    EXPECT_FALSE(drawn.timed_out);
    EXPECT_EQ(drawn.exit_code, inspected.exit_code) << drawn.err;
    if (drawn.exit_code == 0) {
      ++rendered;
      EXPECT_EQ(pictures.names(), std::set<std::string>{"view.png"});
      const Result<Image> picture = readImage(pictures.path() / "view.png");
      ASSERT_TRUE(picture) << picture.error().message;
      EXPECT_EQ(picture->width, 48);
      EXPECT_EQ(picture->height, 48);
    } else {
      EXPECT_TRUE(pictures.names().empty());
    }
  }
  EXPECT_GE(rendered, 26u);  // at least the files that must load
}

TEST(HostileFiles, TheJudgeReportsPlantedFaults) {
  const HostileFile error{"a.obj", "error"}, lenient{"a.obj", "error", true}, warn{"a.obj", "warn"},
      ok{"a.obj", "ok"};
  ProcessOutcome fine;
  fine.started = true;
  fine.exit_code = 0;
  const std::string clean = R"({"warnings": [], "area": 1.5})";
  const std::string warned = R"({"warnings": ["something"], "area": 1.5})";
  EXPECT_EQ(judge(ok, fine, clean), "");
  EXPECT_EQ(judge(warn, fine, warned), "");
  EXPECT_EQ(judge(lenient, fine, warned), "");
  EXPECT_NE(judge(lenient, fine, clean), "");
  EXPECT_NE(judge(error, fine, warned), "");
  EXPECT_NE(judge(warn, fine, clean), "");
  EXPECT_NE(judge(ok, fine, warned), "");
  EXPECT_NE(judge(ok, fine, ""), "");
  EXPECT_NE(judge(ok, fine, "{\"warnings\": []"), "");
  EXPECT_NE(judge(ok, fine, R"({"warnings": [], "area": NaN})"), "");
  EXPECT_NE(judge(ok, fine, R"({"warnings": [], "area": null})"), "");
  EXPECT_NE(judge(ok, fine, R"({"warnings": [], "area": "nan"})"), "");
  EXPECT_EQ(judge(ok, fine, R"({"warnings": [], "name": "banana_nan_inf.obj info"})"), "");
  ProcessOutcome printed = fine;
  printed.out = "area -nan\n";
  EXPECT_NE(judge(ok, printed, clean), "");

  ProcessOutcome refused = fine;
  refused.exit_code = 3;
  refused.err = "heatskin: error: a.obj: bad\n";
  EXPECT_EQ(judge(error, refused, ""), "");
  EXPECT_EQ(judge(warn, refused, ""), "");
  EXPECT_NE(judge(ok, refused, ""), "");
  EXPECT_NE(judge(error, refused, clean), "");
  for (const char* err : {"heatskin: error: b.obj: bad\n", "error: a.obj\n", "heatskin: error: a.obj\nmore\n",
                          "heatskin: error: a.obj", ""}) {
    ProcessOutcome wrong = refused;
    wrong.err = err;
    EXPECT_NE(judge(error, wrong, ""), "") << err;
  }
  for (const int code : {1, 2, 134}) {
    ProcessOutcome wrong = refused;
    wrong.exit_code = code;
    EXPECT_NE(judge(error, wrong, ""), "");
  }
  ProcessOutcome crashed = refused;
  crashed.signal_number = SIGSEGV;
  EXPECT_NE(judge(error, crashed, ""), "");
  ProcessOutcome slow = refused;
  slow.timed_out = true;
  EXPECT_NE(judge(error, slow, ""), "");
  ProcessOutcome large = refused;
  large.peak_rss_bytes = kResidentLimit + 1;
  EXPECT_NE(judge(error, large, ""), "");
}

}  // namespace
}  // namespace heatskin::testing
