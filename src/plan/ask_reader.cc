#include "plan/ask_reader.h"

#include "plan/flag_values.h"

namespace outrider::plan {

using base::FlagUse;

void AskReader::problem(std::string rule, std::string field, std::string value, std::string message,
                        std::string remedy) {
  out_.problems.push_back({.rule = std::move(rule),
                           .field = std::move(field),
                           .value = std::move(value),
                           .message = std::move(message),
                           .remedy = std::move(remedy),
                           .reference = ""});
}

void AskReader::read_faults(const base::Inspector& inspector) {
  for (const base::Problem& fault : inspector.problems()) {
    problem("CLI", setting_of_flag(fault.field), fault.found, "flag " + fault.field + " " + fault.rule,
            fault.remedy.empty() ? "write it as --help shows" : fault.remedy);
  }
}

void AskReader::read_unknown(const std::vector<base::UnknownFlag>& unknown) {
  for (const base::UnknownFlag& flag : unknown) {
    const std::string word = base::printable(flag.word);
    problem("CLI", "flag:" + word, base::printable(flag.value.value_or("")), "flag " + word + " is not known",
            flag.nearest.empty() ? "leave it out" : "did you mean " + flag.nearest + "?");
  }
}

void AskReader::read_others(const base::FlagValues& values) {
  for (const KnownFlag& known : vllm_flags()) read_known(values, known);
  for (const KnownFlag& gone : gone_flags()) read_known(values, gone);
}

void AskReader::not_ours(const std::string& flag) {
  problem("CLI", "flag:" + flag, "",
          "flag " + flag + " is " + (engine_ == Engine::Outrider ? "vLLM's" : "another engine's") +
              " and not in " +
              (engine_ == Engine::Outrider ? "this engine" : std::string(row_of(engine_).title)),
          engine_ == Engine::Outrider ? "leave it out, or judge with --as vllm" : "leave it out");
}

void AskReader::read_known(const base::FlagValues& values, const KnownFlag& known) {
  bool used = false;
  for (const FlagUse& use : values.uses()) {
    if (use.name != known.name) continue;
    used = true;
    if (engine_ == Engine::Outrider && !known.ours) continue;
    if (known.kind == KnownKind::Json) {
      std::optional<Json> ignored;
      json_.merge(use, setting_of_flag(known.name), ignored);
    } else if (const auto wrong = wrong_value(known, use.value)) {
      const bool ranged = known.name == "--node-rank" || known.name == "--ubatch-size" ||
                          known.name == "--data-parallel-rpc-port";  // P1
      problem(ranged && *wrong != "must be an integer" ? "P1" : "CLI", setting_of_flag(known.name),
              base::printable(use.value),
              "target: " + std::string(known.name) + "=" + base::printable(use.value) + " " + *wrong,
              "correct the value, or leave the flag out");
    }
  }
  if (!used) return;
  if (engine_ == Engine::Outrider && !known.ours) {
    not_ours(std::string(known.name));
  } else if (!known.gone.empty()) {
    const std::string* value = values.text(known.name);
    problem("CLI", "flag:" + std::string(known.name), base::printable(value == nullptr ? "" : *value),
            "flag " + std::string(known.name) + " is an older version's: vLLM has it no longer",
            std::string(known.gone));
  }
}

void AskReader::read_target(const std::string& name, const FlagUse& use, std::optional<bool>& member) {
  if (use.value == "true" || use.value == "false") {
    member = use.value == "true";
  } else {
    problem("CLI", "target." + name, base::printable(use.value),
            "target: " + name + " is a switch and takes no value", "leave the value out");
  }
}

void AskReader::read_target(const std::string& name, const FlagUse& use,
                            std::optional<std::int64_t>& member) {
  std::string lower = use.value;
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  if (name == "max_model_len" && (lower == "auto" || lower == "-1")) {
    member.reset();
    return;
  }
  const bool tokens = name == "max_model_len" || name == "max_num_batched_tokens";
  const auto number = tokens ? parse_token_count(use.value) : parse_python_integer(use.value);
  if (number) {
    member = *number;
  } else {
    problem("CLI", "target." + name, base::printable(use.value), "target: " + name + " must be an integer",
            tokens ? "a number of tokens, as 8192 or 8k" : "give a whole number");
  }
}

void AskReader::read_target(const std::string& name, const FlagUse& use, std::optional<std::string>& member) {
  std::string value = spelled(name, use.value, engine_);
  if (auto wrong = word_problem(name, "target." + name, value, engine_, use_)) {
    wrong->value = base::printable(use.value);
    out_.problems.push_back(std::move(*wrong));
  } else {
    member = std::move(value);
  }
}

void AskReader::read_target(const std::string& name, const FlagUse& use, std::optional<Json>& member) {
  json_.merge(use, "target." + name, member);
}

}  // namespace outrider::plan
