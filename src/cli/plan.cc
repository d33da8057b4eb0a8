#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/json_write.h"
#include "base/mapped_file.h"
#include "base/strings.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/plan_command.h"
#include "cli/plan_files.h"
#include "plan/print_json.h"
#include "plan/print_text.h"
#include "plan/rules.h"
#include "plan/serve_yaml.h"

namespace outrider::cli {
namespace {

using plan::Problem;

// The command's own words; the others are judged.
struct PlanWords {
  std::optional<std::string> as, explain, diff, machine;
  bool json = false, markdown = false;
  std::vector<std::string> rest;
  std::vector<Problem> problems;
};

Problem cli_problem(std::string field, std::string value, std::string message, std::string remedy) {
  return {.rule = "CLI",
          .field = std::move(field),
          .value = std::move(value),
          .message = std::move(message),
          .remedy = std::move(remedy),
          .reference = ""};
}

void take_own_words(std::span<const std::string> words, PlanWords& own, std::vector<std::string>& rest) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    const std::string name = words[i].substr(0, equals);
    if (name == "--json" || name == "--markdown") {
      (name == "--json" ? own.json : own.markdown) = true;
      continue;
    }
    std::optional<std::string>* slot = name == "--as"        ? &own.as
                                       : name == "--explain" ? &own.explain
                                       : name == "--diff"    ? &own.diff
                                       : name == "--machine" ? &own.machine
                                                             : nullptr;
    if (slot == nullptr) {
      rest.push_back(words[i]);
    } else if (equals != std::string::npos) {
      *slot = words[i].substr(equals + 1);
    } else if (i + 1 < words.size()) {
      *slot = words[++i];
    } else {
      own.problems.push_back(
          cli_problem("flag:" + name, "", "flag " + name + " needs a value", "write " + name + " VALUE"));
    }
  }
}

const std::vector<base::Flag>& own_flags() {
  using base::FlagKind;
  static const std::vector<base::Flag> kFlags = {
      {.name = "--as",
       .kind = FlagKind::Text,
       .value_name = "ENGINE",
       .help = "whose rules: outrider, vllm, trtllm (the pasted command's engine, else outrider)"},
      {.name = "--json", .kind = FlagKind::Switch, .value_name = "", .help = "one JSON object: docs/plan.md"},
      {.name = "--machine",
       .kind = FlagKind::Json,
       .value_name = "JSON",
       .help = "{\"nodes\":N,\"devices_per_node\":N}; not given: no rule about devices"},
      {.name = "--diff",
       .kind = FlagKind::Text,
       .value_name = "FILE",
       .help = "compare with another plan's --json, field by field"},
      {.name = "--explain",
       .kind = FlagKind::Text,
       .value_name = "RULE",
       .help = "a rule with its reason; all: every rule"},
      {.name = "--markdown",
       .kind = FlagKind::Switch,
       .value_name = "",
       .help = "with --explain all: as docs/refusals.md"},
  };
  return kFlags;
}

// A question that cannot be answered at all, as a refusal.
PlanAnswer refuse_words(const PlanWords& own, std::vector<Problem> problems) {
  const plan::PlanRefusal refusal{std::move(problems)};
  if (own.json)
    return {.code = kRefused, .out = plan::json_text(plan::Engine::Outrider, refusal) + "\n", .err = ""};
  return {.code = kRefused, .out = "", .err = plan::refusal_text(plan::Engine::Outrider, refusal)};
}

PlanAnswer explain(const PlanWords& own) {
  if (*own.explain == "all" && own.json) {
    base::JsonWriter writer;
    writer.begin_array();
    for (const plan::Rule* rule : plan::all_rules()) plan::write_rule(writer, *rule);
    writer.end_array();
    return {.code = kDone, .out = writer.text() + "\n", .err = ""};
  }
  if (*own.explain == "all") {
    std::string text;
    if (own.markdown) return {.code = kDone, .out = plan::refusals_document(), .err = ""};
    for (const plan::Rule* rule : plan::all_rules()) text += plan::explain_rule(*rule) + "\n";
    return {.code = kDone, .out = text, .err = ""};
  }
  const plan::Rule* rule = plan::find_rule(*own.explain);
  if (rule == nullptr) {
    return refuse_words(own, {cli_problem("flag:--explain", base::printable(*own.explain),
                                          "--explain " + base::printable(*own.explain) + " is no rule",
                                          "--explain all lists them")});
  }
  if (!own.json) return {.code = kDone, .out = plan::explain_rule(*rule), .err = ""};
  base::JsonWriter writer;
  plan::write_rule(writer, *rule);
  return {.code = kDone, .out = writer.text() + "\n", .err = ""};
}

constexpr std::string_view kind_of(const std::optional<std::int64_t>&) { return "an integer of at least 1"; }
constexpr std::string_view kind_of(const std::optional<std::vector<std::string>>&) {
  return "a list of names";
}
bool take(const base::Json& value, std::optional<std::int64_t>& member) {
  if (value.integer() == nullptr || *value.integer() < 1) return false;
  member = *value.integer();
  return true;
}
bool take(const base::Json& value, std::optional<std::vector<std::string>>& member) {
  if (value.array() == nullptr) return false;
  std::vector<std::string> names;
  for (const base::Json& name : *value.array()) {
    if (name.string() == nullptr) return false;
    names.push_back(*name.string());
  }
  member = std::move(names);
  return true;
}

void read_machine(const PlanWords& own, plan::Machine& machine, std::vector<Problem>& problems) {
  if (!own.machine) return;
  const auto parsed = base::parse_json(*own.machine, "--machine");
  if (!parsed.ok() || parsed->object() == nullptr) {
    problems.push_back(cli_problem("flag:--machine", base::printable(*own.machine),
                                   "--machine must be a JSON object",
                                   "{\"nodes\":1,\"devices_per_node\":8}"));
    return;
  }
  for (const base::Json::Member& entry : *parsed->object()) {
    const std::string& key = entry.first;  // clang 14 captures no structured binding
    const base::Json& value = entry.second;
    bool known = false;
    base::for_each_field(machine, [&](const auto& field, auto& member) {
      if (field.name != key) return;
      known = true;
      if (!take(value, member)) {
        problems.push_back(cli_problem("machine." + key, value.excerpt(),
                                       "machine: " + key + " must be " + std::string(kind_of(member)),
                                       "correct it, or leave it out"));
      }
    });
    if (!known)
      problems.push_back(cli_problem("machine." + base::printable(key), value.excerpt(),
                                     "machine: key " + base::printable(key) + " is not known",
                                     "nodes, devices_per_node or device_memory_bytes"));
  }
}

// A fault of a config and the rule that judges the same field are one problem: the rule's words stay.
void merge_problems(std::vector<Problem>& problems, std::vector<Problem> more) {
  std::erase_if(problems, [&](const Problem& old) {
    return std::any_of(more.begin(), more.end(), [&](const Problem& found) {
      return found.field == old.field && (found.rule == old.rule || old.rule == "CONFIG");
    });
  });
  for (Problem& problem : more) problems.push_back(std::move(problem));
}

void sort_by_table(std::vector<Problem>& problems) {
  const std::vector<const plan::Rule*> rules = plan::all_rules();
  const auto place = [&](const Problem& problem) {
    return std::find_if(rules.begin(), rules.end(),
                        [&](const plan::Rule* rule) { return rule->id == problem.rule; }) -
           rules.begin();
  };
  std::stable_sort(problems.begin(), problems.end(),
                   [&](const Problem& a, const Problem& b) { return place(a) < place(b); });
}

// {"equal":bool,"differences":[{"field":"","from":x,"to":y}]}; a side that is absent has no key.
std::string diff_json(const std::vector<plan::Difference>& found) {
  base::JsonWriter writer;
  writer.begin_object();
  writer.key("equal").value(found.empty());
  writer.key("differences").begin_array();
  for (const plan::Difference& one : found) {
    writer.begin_object();
    writer.key("field").value(one.field);
    if (one.from) writer.key("from").value(*one.from);
    if (one.to) writer.key("to").value(*one.to);
    writer.end_object();
  }
  writer.end_array();
  writer.end_object();
  return writer.text();
}

// Field by field; with --json one object. Another plan that cannot be read is a problem of the command's own.
PlanAnswer show_diff(const PlanWords& own, const std::string& json, int code) {
  const auto text = base::read_text_file(*own.diff);
  const auto other = text.ok() ? base::parse_json(*text, *own.diff) : base::Result<base::Json>(text.error());
  const bool is_plan = other.ok() && other->find("derived") != nullptr && other->find("verdict") != nullptr;
  if (!is_plan) {
    return refuse_words(
        own, {cli_problem("flag:--diff", base::printable(*own.diff),
                          other.ok() ? "--diff: the file is no plan: it has no verdict and no derived fields"
                                     : "--diff: " + base::to_string(other.error().problems.front()),
                          "give a file that outrider plan --json wrote")});
  }
  const auto mine = base::parse_json(json, "plan");
  const std::vector<plan::Difference> found = plan::differences(*other, *mine);
  if (own.json) return {.code = code, .out = diff_json(found) + "\n", .err = ""};
  std::string out;
  const auto shown = [](const std::optional<base::Json>& value) {
    return value ? value->excerpt() : "absent";
  };
  for (const plan::Difference& one : found)
    out += one.field + ": " + shown(one.from) + " -> " + shown(one.to) + "\n";
  return {.code = code, .out = out.empty() ? "no difference\n" : out, .err = ""};
}

PlanAnswer show(const PlanWords& own, plan::Engine engine,
                const base::Result<plan::Plan, plan::PlanRefusal>& result) {
  const std::string json = result.ok() ? plan::json_text(*result) : plan::json_text(engine, result.error());
  const int code = result.ok() ? kDone : kRefused;
  if (own.diff) return show_diff(own, json, code);
  if (own.json) return {.code = code, .out = json + "\n", .err = ""};
  if (result.ok()) return {.code = code, .out = plan::plan_text(*result), .err = ""};
  return {.code = code, .out = "", .err = plan::refusal_text(engine, result.error())};
}

// vLLM puts the words of its --config file behind the model, so that what was typed counts.
std::vector<std::string> with_config_file(std::vector<std::string> words, std::vector<Problem>& problems) {
  const auto at = std::find_if(words.begin(), words.end(), [](const std::string& word) {
    return word == "--config" || word.starts_with("--config=");
  });
  const bool attached = at != words.end() && at->size() > 8;
  if (at == words.end() || (!attached && std::next(at) == words.end())) return words;
  const std::string path = attached ? at->substr(9) : *std::next(at);
  words.erase(at, at + (attached ? 1 : 2));
  const auto text = base::read_text_file(path, plan::kServeFileBytesMax);
  if (!text.ok()) {
    problems.push_back(cli_problem(
        "target.config", base::printable(path),
        "target: the config file cannot be read: " + base::to_string(text.error().problems.front()),
        "give a YAML file of flags, or leave --config out"));
    return words;
  }
  std::vector<std::string> read = plan::parse_serve_yaml(*text, problems);
  const bool model_typed = !words.empty() && !words.front().starts_with("-");
  const auto named = std::find(read.begin(), read.end(), "--model");
  if (model_typed && named != read.end()) read.erase(named, named + (std::next(named) == read.end() ? 1 : 2));
  words.insert(words.begin() + (model_typed ? 1 : 0), read.begin(), read.end());
  return words;
}

plan::Environment process_environment() {
  plan::Environment environment;
  for (const char* name : {"VLLM_PP_LAYER_PARTITION", "VLLM_DP_SIZE", "VLLM_ALLOW_LONG_MAX_MODEL_LEN"}) {
    if (const char* value = std::getenv(name)) environment[name] = value;
  }
  return environment;
}

}  // namespace

// CUDA_VISIBLE_DEVICES in front of a pasted command says how many devices its node has at most, where nothing
// else does. Ray and several nodes find devices elsewhere.
void limit_devices(const plan::Environment& typed, const plan::Intent& intent, plan::Machine& machine) {
  const auto visible = typed.find("CUDA_VISIBLE_DEVICES");
  const bool elsewhere = intent.target.distributed_executor_backend == "ray" ||
                         intent.target.nnodes.value_or(1) > 1 || intent.target.data_parallel_size_local;
  if (visible == typed.end() || machine.devices_per_node || elsewhere ||
      intent.engine == plan::Engine::Outrider)
    return;
  const std::string& list = visible->second;
  const bool none = list.empty() || list.starts_with("-1");  // the runtime shows what stands before a -1
  if (!none && list.find_first_not_of("0123456789,") != std::string::npos) return;
  machine.nodes = 1;
  machine.devices_per_node = none ? 0 : std::count(list.begin(), list.end(), ',') + 1;
}

PlanAnswer answer_plan(std::span<const std::string> words, const plan::Environment& environment) {
  PlanWords own;
  plan::Engine engine = plan::Engine::Outrider;
  plan::Environment variables = environment, typed;
  const auto dashes = std::find(words.begin(), words.end(), "--");
  std::vector<std::string> judged;
  take_own_words(words.subspan(0, static_cast<std::size_t>(dashes - words.begin())), own, judged);
  if (dashes != words.end()) {
    for (const std::string& word : judged) {
      own.problems.push_back(cli_problem("flag:" + base::printable(word), "",
                                         "word " + base::printable(word) + " stands in front of --",
                                         "move it behind the pasted command"));
    }
    plan::PastedCommand pasted =
        plan::parse_pasted(words.subspan(static_cast<std::size_t>(dashes - words.begin()) + 1));
    engine = pasted.engine;
    for (Problem& fault : pasted.faults) own.problems.push_back(std::move(fault));
    typed = pasted.environment;
    for (auto& [name, value] : pasted.environment) variables[name] = value;
    if (!pasted.problems.empty()) {  // another program's words mean something else
      return show(own, engine, plan::PlanRefusal{std::move(pasted.problems)});
    }
    judged.clear();
    take_own_words(pasted.rest, own, judged);
  }
  if (own.explain) return explain(own);
  std::vector<Problem> problems = std::move(own.problems);
  if (own.as) {
    if (const auto named = plan::parse_engine(*own.as)) {
      engine = *named;
    } else {
      problems.push_back(cli_problem("flag:--as", base::printable(*own.as),
                                     "--as " + base::printable(*own.as) + " is no engine",
                                     "outrider, vllm or trtllm"));
    }
  }
  plan::Machine machine;
  read_machine(own, machine, problems);
  if (engine == plan::Engine::Vllm) judged = with_config_file(std::move(judged), problems);
  plan::CommandLine command = plan::parse_command_line(judged, engine, variables);
  for (Problem& problem : command.problems) problems.push_back(std::move(problem));
  limit_devices(typed, command.intent, machine);
  PlanInputs inputs = read_plan_inputs(command);
  for (Problem& problem : inputs.problems) problems.push_back(std::move(problem));
  if (!inputs.facts) {
    if (problems.empty()) {  // --model "", as of a variable that is not set
      problems.push_back(cli_problem("target.model", "", "target: the model's name is empty",
                                     "name a directory or a config.json"));
    }
    sort_by_table(problems);
    return show(own, engine, plan::PlanRefusal{std::move(problems)});
  }
  auto result = plan::plan(command.intent, *inputs.facts, machine);
  if (!result.ok()) merge_problems(problems, result.error().problems);
  if (problems.empty()) return show(own, engine, result);
  sort_by_table(problems);
  return show(own, engine, plan::PlanRefusal{std::move(problems)});
}

int run_plan(std::span<const std::string> words) {
  std::vector<base::Flag> flags = own_flags();
  for (base::Flag& flag : plan::plan_flags()) flags.push_back(std::move(flag));
  const auto dashes = std::find(words.begin(), words.end(), "--");
  if (printed_help(
          words.subspan(0, static_cast<std::size_t>(dashes - words.begin())),
          "plan --model DIR [flags]\n       outrider plan [--as ENGINE] [--json] -- vllm serve MODEL ...",
          "What would run on which rank, or every reason why not. Reads config.json only: no weights, no "
          "devices.\n"
          "Behind -- a vLLM command line is judged as it was typed, variables in front included.",
          flags)) {
    return kDone;
  }
  const PlanAnswer answer = answer_plan(words, process_environment());
  std::fputs(answer.out.c_str(), stdout);
  std::fputs(answer.err.c_str(), stderr);
  return answer.code;
}

}  // namespace outrider::cli
