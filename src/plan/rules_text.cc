// The table of rules as a document, and one rule for --explain.
#include "plan/print_text.h"
#include "plan/rules.h"

namespace outrider::plan {
namespace {

std::string_view verdict_text(const Rule& rule) {
  switch (rule.verdict) {
    case Verdict::Refuse:
      return "refuses";
    case Verdict::Derive:
      return "derives";
    case Verdict::Warn:
      return "notes";
    case Verdict::ElseWhere:
      return "upheld elsewhere";
  }
  return "";
}

std::string engines_text(const Engines& engines) {
  std::string names;
  for (const EngineRow& row : kEngines) {
    if (engines.has(row.engine)) names += (names.empty() ? "" : ", ") + std::string(row.name);
  }
  return names;
}

}  // namespace

std::string explain_rule(const Rule& rule) {
  std::string text = std::string(rule.id) + " (" + std::string(verdict_text(rule)) + "; rules of " +
                     engines_text(rule.engines) + ")\n";
  text += wrapped("  when: " + std::string(rule.condition), 8) + "\n";
  text += wrapped("  why:  " + std::string(rule.reason), 8) + "\n";
  if (!rule.vllm.empty()) text += wrapped("  vLLM: " + std::string(rule.vllm), 8) + "\n";
  if (!rule.trtllm.empty()) text += wrapped("  TensorRT-LLM: " + std::string(rule.trtllm), 8) + "\n";
  return text;
}

void write_rule(base::JsonWriter& writer, const Rule& rule) {
  writer.begin_object();
  writer.key("rule").value(rule.id);
  writer.key("verdict").value(verdict_text(rule));
  writer.key("engines").begin_array();
  for (const EngineRow& row : kEngines) {
    if (rule.engines.has(row.engine)) writer.value(row.name);
  }
  writer.end_array();
  writer.key("when").value(rule.condition);
  writer.key("why").value(rule.reason);
  writer.key("vllm").value(rule.vllm);
  writer.key("trtllm").value(rule.trtllm);
  writer.end_object();
}

std::string refusals_document() {
  std::string text =
      "# Why a plan is refused\n\n"
      "Printed by `outrider plan --explain all --markdown`; a test keeps this file equal to the table in "
      "`src/plan/rules*.cc`.\n"
      "Every rule is judged independently of all others, and all problems are reported at once. `refuses` "
      "ends in exit code 2;\n"
      "`derives` and `notes` appear in the printed plan; `upheld elsewhere` cannot be judged from plain "
      "values, and the reason says\n"
      "where it is upheld. The last columns name the error that other engines run into, with its public "
      "number.\n\n"
      "| rule | verdict | engines | when | why | elsewhere |\n|---|---|---|---|---|---|\n";
  const auto cell = [](std::string value) {
    for (std::size_t at = 0; (at = value.find('|', at)) != std::string::npos; at += 2) value.insert(at, "\\");
    return value;
  };
  for (const Rule* rule : all_rules()) {
    std::string theirs(rule->vllm);
    if (!rule->trtllm.empty()) theirs += (theirs.empty() ? "" : "; ") + std::string(rule->trtllm);
    text += "| " + std::string(rule->id) + " | " + std::string(verdict_text(*rule)) + " | " +
            engines_text(rule->engines) + " | " + cell(std::string(rule->condition)) + " | " +
            cell(std::string(rule->reason)) + " | " + cell(theirs) + " |\n";
  }
  return text;
}

}  // namespace outrider::plan
