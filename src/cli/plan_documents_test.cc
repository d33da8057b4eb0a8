// What the command prints beside a plan or a refusal: the documents, --explain and --diff.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/json.h"
#include "base/mapped_file.h"
#include "cli/command.h"
#include "cli/plan_command.h"
#include "plan/rules.h"

namespace outrider::cli {
namespace {

namespace fs = std::filesystem;

TEST(PlanDocuments, RefusalsAreThoseOfTheTable) {
  const std::string path = OUTRIDER_TEST_DATA "/../../docs/refusals.md";
  if (std::getenv("UPDATE_SNAPSHOTS") != nullptr) std::ofstream(path) << plan::refusals_document();
  const auto text = base::read_text_file(path);
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(*text, plan::refusals_document())
      << "write it anew: outrider plan --explain all --markdown > docs/refusals.md";
}

TEST(PlanDocuments, DiffTellsWhatChangedFieldByField) {
  const std::string model = OUTRIDER_TEST_DATA "/plan/configs/qwen3-8b";
  const fs::path file =
      fs::path(::testing::TempDir()) / ("plan_diff_" + std::to_string(::getpid()) + ".json");
  std::ofstream(file)
      << answer_plan(std::vector<std::string>{"--json", "--model", model, "-tp", "2"}, {}).out;
  const auto diff = [&](const std::string& ranks) {
    const std::vector<std::string> words = {"--diff", file.string(), "--model", model, "-tp", ranks};
    return answer_plan(words, {}).out;
  };
  EXPECT_EQ(diff("2"), "no difference\n");
  const std::string changed = diff("4");
  EXPECT_NE(changed.find("target.tensor_parallel_size: 2 -> 4\n"), std::string::npos) << changed;
  EXPECT_NE(changed.find("target.kv_heads_per_rank: 4 -> 2\n"), std::string::npos) << changed;
  EXPECT_EQ(changed.find("target.max_model_len"), std::string::npos) << changed;
  const std::vector<std::string> words = {"--json", "--diff", file.string(), "--model", model, "-tp", "4"};
  const auto object = base::parse_json(answer_plan(words, {}).out, "answer");
  ASSERT_TRUE(object.ok());
  EXPECT_EQ(*object->find("equal")->boolean(), false);
  bool found = false;
  for (const base::Json& one : *object->find("differences")->array()) {
    if (*one.find("field")->string() != "target.tensor_parallel_size") continue;
    found = true;
    EXPECT_EQ(*one.find("from")->integer(), 2);
    EXPECT_EQ(*one.find("to")->integer(), 4);
  }
  EXPECT_TRUE(found);
  fs::remove(file);
}

TEST(PlanDocuments, APlanThatCannotBeReadIsARefusalOfTheCommand) {
  const std::string model = OUTRIDER_TEST_DATA "/plan/configs/qwen3-8b";
  for (const std::string& file : {std::string("/nowhere/plan.json"), model + "/config.json"}) {
    const std::vector<std::string> words = {"--json", "--diff", file, "--model", model};
    const PlanAnswer answer = answer_plan(words, {});
    EXPECT_EQ(answer.code, kRefused);
    const auto object = base::parse_json(answer.out, "answer");
    ASSERT_TRUE(object.ok()) << answer.out;
    EXPECT_EQ(*(*object->find("problems")->array())[0].find("field")->string(), "flag:--diff");
    const std::vector<std::string> plain = {"--diff", file, "--model", model};
    EXPECT_NE(answer_plan(plain, {}).err.find("flag:--diff"), std::string::npos);
  }
}

// Words of a shell line: blanks separate, single quotes hold together.
std::vector<std::string> shell_words(const std::string& line) {
  std::vector<std::string> words;
  bool quoted = false, open = false;
  for (const char c : line) {
    if (c == '\'') {
      quoted = !quoted;
    } else if (c == ' ' && !quoted) {
      open = false;
      continue;
    }
    if (!open) words.emplace_back();
    open = true;
    if (c != '\'') words.back() += c;
  }
  return words;
}

TEST(PlanDocuments, TheGuideShowsWhatIsPrinted) {
  const auto guide = base::read_text_file(OUTRIDER_TEST_DATA "/../../docs/plan.md");
  ASSERT_TRUE(guide.ok());
  const fs::path before = fs::current_path();
  fs::current_path(OUTRIDER_TEST_DATA "/plan/configs");
  const std::string opening = "```text\n$ outrider plan ";
  int shown = 0;
  for (std::size_t at = 0; (at = guide->find(opening, at)) != std::string::npos; ++shown) {
    at += opening.size();
    std::string block = guide->substr(at, guide->find("\n```", at) - at);
    for (std::size_t cut; (cut = block.find("\\\n   ")) != std::string::npos;) block.erase(cut, 5);
    const std::size_t line = block.find('\n');
    const PlanAnswer answer = answer_plan(shell_words(block.substr(0, line)), {});
    EXPECT_EQ(block.substr(line + 1) + "\n", answer.out + answer.err);
  }
  fs::current_path(before);
  EXPECT_EQ(shown, 3);
}

TEST(PlanDocuments, EveryRuleExplainsItself) {
  std::set<std::string_view> ids;
  for (const plan::Rule* rule : plan::all_rules()) {
    EXPECT_TRUE(ids.insert(rule->id).second) << rule->id;
    const std::vector<std::string> words = {"--explain", std::string(rule->id)};
    const PlanAnswer answer = answer_plan(words, {});
    EXPECT_EQ(answer.code, kDone);
    EXPECT_NE(answer.out.find(rule->condition.substr(0, 20)), std::string::npos);
    EXPECT_EQ(rule->check == nullptr && rule->verdict == plan::Verdict::Warn, false) << rule->id;
    const std::vector<std::string> as_json = {"--json", "--explain", std::string(rule->id)};
    const auto object = base::parse_json(answer_plan(as_json, {}).out, "answer");
    ASSERT_TRUE(object.ok()) << rule->id;
    EXPECT_EQ(*object->find("rule")->string(), rule->id);
  }
  const std::vector<std::string> unknown = {"--json", "--explain", "Z9"};
  const PlanAnswer answer = answer_plan(unknown, {});
  EXPECT_EQ(answer.code, kRefused);
  EXPECT_TRUE(base::parse_json(answer.out, "answer").ok());
}

}  // namespace
}  // namespace outrider::cli
