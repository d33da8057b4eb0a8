// Every case of tests/data/plan/cases.json: command lines with the known verdict, problems and derived
// values.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/json.h"
#include "base/json_write.h"
#include "base/mapped_file.h"
#include "cli/command.h"
#include "cli/plan_command.h"

namespace outrider::cli {
namespace {

namespace fs = std::filesystem;
using base::Json;

Json read_json(const std::string& path) {
  const auto text = base::read_text_file(path);
  auto parsed = base::parse_json(*text, path);
  EXPECT_TRUE(parsed.ok()) << path;
  return std::move(parsed).value();
}

void merge_patch(Json& target, const Json& patch) {  // RFC 7386
  if (patch.object() == nullptr) {
    target = patch;
    return;
  }
  if (target.object() == nullptr) target = Json(Json::Object{});
  for (const auto& [key, value] : *patch.object()) {
    auto& members = *target.object();
    const auto found =
        std::find_if(members.begin(), members.end(), [&](const auto& member) { return member.first == key; });
    if (value.is_null()) {
      if (found != members.end()) members.erase(found);
    } else if (found == members.end()) {
      members.emplace_back(key, Json());
      merge_patch(members.back().second, value);
    } else {
      merge_patch(found->second, value);
    }
  }
}

void write_file(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}
std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// One case laid out in a folder, run, and its answer read back.
class CaseRun {
 public:
  explicit CaseRun(const Json& item)
      : item_(item),
        folder_(fs::path(::testing::TempDir()) / ("plan_" + std::to_string(::getpid()) + "_" + name())) {
    fs::remove_all(folder_);
    for (const char* role : {"target", "draft"}) {
      const std::string* model = item.find(role)->string();
      if (model == nullptr) continue;
      Json config = read_json(OUTRIDER_TEST_DATA "/plan/configs/" + *model + "/config.json");
      const Json* patches = item.find("patch");
      if (const Json* patch = patches == nullptr ? nullptr : patches->find(role)) merge_patch(config, *patch);
      base::JsonWriter writer;
      writer.value(config);
      write_file(folder_ / role / "config.json", writer.text());
      places_.emplace_back("{" + std::string(role) + "}", (folder_ / role).string());
    }
    if (const Json* files = item.find("files")) {
      for (const auto& [file, text] : *files->object()) {
        write_file(folder_ / file, *text.string());
        places_.emplace_back("{file:" + file + "}", (folder_ / file).string());
      }
    }
  }
  ~CaseRun() { fs::remove_all(folder_); }

  std::string name() const { return *item_.find("id")->string(); }
  std::string placed(std::string text) const {
    for (const auto& [from, to] : places_) text = replaced(text, from, to);
    return text;
  }
  // As pasted behind "--", or as our own command where the case is one.
  PlanAnswer run() const {
    std::vector<std::string> words = {"--json", "--as", *item_.find("as")->string()};
    if (const Json* machine = item_.find("machine")) words.push_back("--machine=" + machine->excerpt());
    const Json::Array& argv = *item_.find("argv")->array();
    const bool own = *argv[0].string() == "outrider";
    if (!own) words.push_back("--");
    if (const Json* environment = item_.find("env")) {
      for (const auto& [key, value] : *environment->object()) words.push_back(key + "=" + *value.string());
    }
    for (std::size_t i = own ? 2 : 0; i < argv.size(); ++i) words.push_back(placed(*argv[i].string()));
    return answer_plan(words, {});
  }

 private:
  const Json& item_;
  fs::path folder_;
  std::vector<std::pair<std::string, std::string>> places_;
};

std::string text_of(const Json& problem, const char* key) { return *problem.find(key)->string(); }

bool matches(const Json& expected, const Json& problem, const CaseRun& run) {
  if (text_of(problem, "field") != text_of(expected, "field")) return false;
  const std::string text = lower(text_of(problem, "field") + " " + text_of(problem, "value") + " " +
                                 text_of(problem, "message") + " " + text_of(problem, "remedy"));
  for (const Json& mention : *expected.find("mentions")->array()) {
    bool any = false;
    std::string words = lower(run.placed(*mention.string()));
    for (std::size_t bar = 0; bar != std::string::npos;) {
      bar = words.find('|');
      any |= text.find(words.substr(0, bar)) != std::string::npos;
      if (bar != std::string::npos) words = words.substr(bar + 1);
    }
    if (!any) return false;
  }
  return true;
}

void check_problems(const Json& item, const Json& answer, const CaseRun& run) {
  const Json::Array& found = *answer.find("problems")->array();
  std::vector<bool> matched(found.size(), false);
  for (const Json& expected : *item.find("problems")->array()) {
    bool any = false, rule = false;
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (!matches(expected, found[i], run)) continue;
      any = matched[i] = true;
      const std::string* value = expected.find("value")->string();
      rule |= text_of(found[i], "rule") == text_of(expected, "rule") &&
              (value == nullptr || text_of(found[i], "value") == run.placed(*value));
    }
    if (expected.find("optional") != nullptr) continue;
    EXPECT_TRUE(any) << run.name() << " lacks " << expected.excerpt(300);
    EXPECT_TRUE(rule) << run.name() << " has another rule or value for " << expected.excerpt(300);
  }
  const Json* complete = item.find("complete");
  if (complete == nullptr || !*complete->boolean()) return;
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_TRUE(matched[i]) << run.name() << " also reports " << found[i].excerpt(300);
}

TEST(PlanCases, EveryKnownCommandLineHasTheKnownVerdict) {
  const Json cases = read_json(OUTRIDER_TEST_DATA "/plan/cases.json");
  std::size_t count = 0;
  for (const Json& item : *cases.find("cases")->array()) {
    const CaseRun run(item);
    const PlanAnswer reply = run.run();
    const auto parsed = base::parse_json(reply.out, "answer");
    ASSERT_TRUE(parsed.ok()) << run.name() << reply.err;
    const bool plans = *item.find("verdict")->string() == "plan";
    EXPECT_EQ(*parsed->find("verdict")->string(), *item.find("verdict")->string())
        << run.name() << parsed->find("problems")->excerpt(500);
    EXPECT_EQ(reply.code, plans ? kDone : kRefused) << run.name();
    check_problems(item, *parsed, run);
    for (const Json& problem : *parsed->find("problems")->array()) {
      for (const char* part : {"rule", "field", "message", "remedy"})
        EXPECT_FALSE(text_of(problem, part).empty()) << run.name() << " " << part << problem.excerpt(300);
    }
    const Json* derived = item.find("derived");
    for (const auto& [field, value] : derived == nullptr ? Json::Object{} : *derived->object()) {
      const Json* found = parsed->find("derived")->find(field);
      ASSERT_NE(found, nullptr) << run.name() << " " << field;
      EXPECT_EQ(*found, value) << run.name() << " " << field << " " << found->excerpt();
    }
    ++count;
  }
  EXPECT_EQ(count, 83u);
}

TEST(PlanCases, TheAnswerHasExactlyTheKeysOfTheContract) {
  const Json cases = read_json(OUTRIDER_TEST_DATA "/plan/cases.json");
  const std::vector<std::string> expected = {"verdict",     "as",    "problems", "derived",
                                             "derivations", "ranks", "bytes",    "fingerprint"};
  for (const Json& item : *cases.find("cases")->array()) {
    const auto parsed = base::parse_json(CaseRun(item).run().out, "answer");
    std::vector<std::string> keys;
    for (const auto& [key, value] : *parsed->object()) keys.push_back(key);
    EXPECT_EQ(keys, expected);
  }
}

TEST(PlanCases, PlansOfAllKindsPrintWithinAHundredColumns) {
  const Json cases = read_json(OUTRIDER_TEST_DATA "/plan/cases.json");
  for (const Json& item : *cases.find("cases")->array()) {
    const CaseRun run(item);
    std::vector<std::string> words = {"--as", *item.find("as")->string(), "--"};
    for (const Json& word : *item.find("argv")->array()) words.push_back(run.placed(*word.string()));
    const PlanAnswer reply = answer_plan(words, {});
    std::string line;
    for (const char c : reply.out + reply.err) {
      if (c != '\n') {
        line += c;
        continue;
      }
      // A path is one word, however long.
      if (line.find(::testing::TempDir()) == std::string::npos) {
        EXPECT_LE(line.size(), 100u) << line;
      }
      line.clear();
    }
  }
}

}  // namespace
}  // namespace outrider::cli
