// Manual pages and completions say what the parser accepts, and the programs that read them understand them.

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/run_process.h"
#include "support/temporary_folder.h"

namespace heatskin {
namespace {

namespace fs = std::filesystem;
using testing::ProcessOutcome;
using testing::runHeatskin;
using testing::runProcess;
using testing::TemporaryFolder;

std::vector<std::string> verbsOfHelp() {
  std::vector<std::string> verbs;
  std::istringstream lines(runHeatskin({"--help"}).out);
  const std::regex entry("  ([a-z-]+) +[A-Z].*");
  std::smatch match;
  for (std::string line; std::getline(lines, line);)
    if (std::regex_match(line, match, entry)) verbs.push_back(match[1]);
  return verbs;
}

std::set<std::string> longOptions(const std::string& help) {
  std::set<std::string> options;
  // Options begin their line; descriptions mention others.
  const std::regex name("\\n  (?:-[a-z],)?(--[a-z-]+)");
  for (std::sregex_iterator it(help.begin(), help.end(), name), end; it != end; ++it)
    options.insert((*it)[1]);
  return options;
}

/// A program found in PATH, as a shell would.
ProcessOutcome runInPath(std::vector<std::string> command, const testing::ProcessOptions& options = {}) {
  const std::vector<std::string> shell = {"/bin/sh", "-c", "exec \"$0\" \"$@\""};
  command.insert(command.begin(), shell.begin(), shell.end());
  return runProcess(std::move(command), options);
}

bool isThere(const std::string& program) {
  return runProcess({"/bin/sh", "-c", "command -v " + program}).exit_code == 0;
}

TEST(Manual, HasAPageForEveryVerbWithEveryOption) {
  TemporaryFolder folder;
  const auto made = runHeatskin({"manual", "-o", folder / "man"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const auto verbs = verbsOfHelp();
  ASSERT_GT(verbs.size(), 15u);
  for (const std::string& verb : verbs) {
    const std::string page = folder.read("man/heatskin-" + verb + ".1");
    const auto options = longOptions(runHeatskin({verb, "--help"}).out);
    EXPECT_GE(options.size(), 6u) << verb;
    for (std::string option : options) {
      option = std::regex_replace(option, std::regex("-"), "\\-");
      EXPECT_NE(page.find("\\fB" + option + "\\fR"), std::string::npos) << verb << " " << option;
    }
    for (const char* part : {".SH NAME", ".SH SYNOPSIS", ".SH EXAMPLES\n.nf\n", ".SH EXIT STATUS"})
      EXPECT_NE(page.find(part), std::string::npos) << verb << " " << part;
  }
  const std::string options = folder.read("man/heatskin-options.7");
  for (const char* key : {"density.max_kernels", "local.window_sigma", "thermal.rank"})
    EXPECT_NE(options.find(key), std::string::npos) << key;
  EXPECT_TRUE(fs::exists(folder / "man/heatskin.1"));
}

TEST(Manual, IsWhatMandocTakes) {
  if (!isThere("mandoc")) GTEST_SKIP() << "mandoc is not installed (packages-dev.txt)";
  TemporaryFolder folder;
  ASSERT_EQ(runHeatskin({"manual", "-o", folder / "man"}).exit_code, 0);
  std::vector<std::string> pages;
  for (const auto& entry : fs::directory_iterator(folder / "man"))
    pages.push_back(entry.path());
  for (const std::string& page : pages) {
    // The version stands where a date would.
    std::istringstream lint(runInPath({"mandoc", "-T", "lint", "-W", "warning", page}).out);
    for (std::string line; std::getline(lint, line);)
      EXPECT_NE(line.find("cannot parse date"), std::string::npos) << line;
  }
  folder.write("planted.1", ".TH PLANTED 1\n.SH NAME\nplanted \\- error\n.nonsense\n\\fBx\n.PP\n");
  EXPECT_NE(runInPath({"mandoc", "-T", "lint", "-W", "warning", folder / "planted.1"}).out.find("nonsense"),
            std::string::npos);
}

TEST(Manual, MarkdownEscapesWhatWouldBeMarkup) {
  TemporaryFolder folder;
  ASSERT_EQ(runHeatskin({"manual", "--format", "markdown", "-o", folder / "md"}).exit_code, 0);
  const std::string page = folder.read("md/heatskin-lod.md");
  EXPECT_NE(page.find("`-o`, `--output` *OUT\\_%d.glb*"), std::string::npos) << page;
  EXPECT_NE(page.find("# heatskin-lod\n"), std::string::npos);
}

/// What bash offers after `words`, the last of which is not finished.
std::string offered(const std::string& script, const std::vector<std::string>& words) {
  std::string command = "compopt() { :; }; source '" + script + "'; COMP_WORDS=(";
  for (const std::string& word : words)
    command += "'" + word + "' ";
  command += "); COMP_CWORD=" + std::to_string(words.size() - 1) + "; _heatskin; echo \"${COMPREPLY[*]}\"";
  return runInPath({"bash", "-c", command}, {.folder = fs::path(testing::heatskinBinary()).parent_path()})
      .out;
}

TEST(Completion, OffersVerbsOptionsAndValues) {
  TemporaryFolder folder;
  const auto script = runHeatskin({"completion", "bash"});
  ASSERT_EQ(script.exit_code, 0) << script.err;
  const std::string file = folder.write("heatskin.bash", script.out);
  EXPECT_EQ(offered(file, {"heatskin", "tra"}), "transfer\n");
  EXPECT_EQ(offered(file, {"heatskin", "help", "tra"}), "transfer\n");
  EXPECT_EQ(offered(file, {"heatskin", "fit", "a.glb", "--meth"}), "--method\n");
  EXPECT_EQ(offered(file, {"heatskin", "fit", "--method", ""}), "local thermal spectral\n");
  EXPECT_EQ(offered(file, {"heatskin", "fit", "--fallback", "=", "te"}), "texture\n");
  EXPECT_EQ(offered(file, {"heatskin", "fit", "--set", "density.max_k"}), "density.max_kernels=\n");
  EXPECT_EQ(offered(file, {"heatskin", "bake", "--to", "f"}), "face\n");
  EXPECT_EQ(offered(file, {"heatskin", "fit", "--steps", ""}), "\n") << "a number: nothing is known of it";
  EXPECT_EQ(offered(file, {"heatskin", "nonsense", "--"}), "\n");
  const auto verbs = verbsOfHelp();
  const std::string all = offered(file, {"heatskin", ""});
  for (const std::string& verb : verbs)
    EXPECT_NE((" " + all).find(" " + verb + " "), std::string::npos) << verb;
}

TEST(Completion, ShellsCanReadTheirScripts) {
  TemporaryFolder folder;
  int tried = 0;
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    const auto script = runHeatskin({"completion", shell});
    ASSERT_EQ(script.exit_code, 0) << script.err;
    for (const std::string& verb : verbsOfHelp())
      EXPECT_NE(script.out.find(verb), std::string::npos) << shell << " " << verb;
    if (!isThere(shell)) continue;
    ++tried;
    const auto read = runInPath({shell, "-n", folder.write("script." + shell, script.out)});
    EXPECT_EQ(read.exit_code, 0) << shell << ": " << read.err;
    EXPECT_EQ(read.err, "") << shell;
    // Would the shell notice?
    const auto planted =
        runInPath({shell, "-n", folder.write("planted." + shell, script.out + "\nif [ 'x\n")});
    EXPECT_NE(planted.exit_code, 0) << shell;
  }
  EXPECT_GE(tried, 1) << "bash is everywhere";
}

TEST(Completion, UnknownShellsAndOccupiedStdoutAreWrongUsage) {
  EXPECT_EQ(runHeatskin({"completion", "tcsh"}).exit_code, 2);
  EXPECT_EQ(runHeatskin({"completion", "bash", "--json", "-"}).exit_code, 2);
  EXPECT_EQ(runHeatskin({"completion"}).exit_code, 2);
}

}  // namespace
}  // namespace heatskin
