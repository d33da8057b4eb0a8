// outrider bench: how fast a model runs here, against what the machine allows.
#include "bench/bench.h"

#include <cstdio>

#include "base/mapped_file.h"
#include "bench/report.h"
#include "cli/bench_flags.h"
#include "cli/commands.h"
#include "cli/machine.h"
#include "cli/open_tokenizer.h"
#include "cli/progress.h"
#include "cli/start.h"
#include "engine/derive_engine_plan.h"
#include "plan/process.h"

namespace outrider::cli {
namespace {

base::Result<bench::Report> load_report(const std::string& path) {
  OUTRIDER_TRY(const std::string text, base::read_text_file(path));
  OUTRIDER_TRY(const base::Json json, base::parse_json(text, path));
  return bench::parse_report(json, path);
}

base::Result<base::Done> load_prompts(BenchOptions& options) {
  if (!options.prompts) return base::Done{};
  OUTRIDER_TRY(const std::string text, base::read_text_file(*options.prompts));
  OUTRIDER_TRY(const base::Json json, base::parse_json(text, *options.prompts));
  OUTRIDER_TRY(options.settings.prompts, parse_prompts(json, *options.prompts));
  return base::Done{};
}

base::Result<base::Done> load_text(BenchOptions& options) {
  if (!options.text) return base::Done{};
  OUTRIDER_TRY(const text::Tokenizer tokenizer, open_tokenizer(options.command.intent.model));
  OUTRIDER_TRY(const std::string text, base::read_text_file(*options.text));
  auto encoded = tokenizer.encode(text, /*special=*/false);
  if (!encoded.ok()) {
    base::Refusal refusal = std::move(encoded).error();
    for (base::Problem& problem : refusal.problems)
      problem.field = "--text " + *options.text + ": " + problem.field;
    return refusal;
  }
  options.settings.held_text = std::move(*encoded);
  return base::Done{};
}

// Every id of every prompt that the vocabulary does not have.
base::Result<base::Done> check_prompts(const std::vector<bench::Prompt>& prompts, std::int64_t vocabulary) {
  base::Inspector inspector;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    for (const base::TokenId token : prompts[i].tokens) {
      if (token < vocabulary) continue;
      inspector.report({.field = "--prompts cases[" + std::to_string(i) + "].prompt_token_ids",
                        .found = std::to_string(token),
                        .rule = "must lie in the vocabulary, 0 to " + std::to_string(vocabulary - 1),
                        .remedy = ""});
    }
  }
  if (!inspector.clean()) return std::move(inspector).refuse();
  return base::Done{};
}

// How long sequences get is the parts' own choice: their flags are to blame where it is too long.
base::Result<plan::Plan> plan_parts(const plan::Intent& intent, const plan::ModelsFacts& facts) {
  auto planned = plan_run(intent, facts);
  if (planned.ok()) return planned;
  base::Refusal refusal = std::move(planned).error();
  for (base::Problem& problem : refusal.problems) {
    if (problem.field == "--max-model-len") problem.field = "--context, --rows, --prefill";
  }
  return refusal;
}

// Plans of the target alone, with all rows of verify in the cache, and of one sequence that is drafted for.
base::Result<base::Done> add_plans(const plan::Intent& asked, const Files& files, bench::Question& question) {
  OUTRIDER_TRY_DONE(bench::check_positions(question.settings, files.target.shape));
  plan::Intent intent = asked;
  intent.target.max_model_len = bench::positions_needed(question.settings);
  std::optional<checkpoint::DrafterShape> drafter;
  if (files.drafter) drafter = files.drafter->shape;
  if (intent.draft) {
    OUTRIDER_TRY(const plan::Plan drafting, plan_parts(intent, files.facts));
    question.drafting = engine::derive_engine_plan(drafting, files.target.shape, drafter);
  }
  intent.draft.reset();
  intent.target.max_num_seqs = bench::sequences_needed(question.settings);
  OUTRIDER_TRY(const plan::Plan alone, plan_parts(intent, files.facts));
  question.plan = engine::derive_engine_plan(alone, files.target.shape, std::nullopt);
  return base::Done{};
}

}  // namespace

base::Result<bench::Report> measure_bench(const BenchOptions& options, const bench::Listener& listener) {
  const plan::Intent& intent = options.command.intent;
  auto process = plan::plan_process(intent, this_machine());
  if (!process.ok()) {
    base::Refusal refusal;
    for (const plan::Problem& problem : process.error().problems) refusal.problems.push_back(typed(problem));
    return refusal;
  }
  bench::Question question{.settings = options.settings,
                           .kernels = engine::kernel_target_of(process->kernel_target),
                           .thread_count = static_cast<int>(process->num_threads)};
  std::optional<Files> files;
  if (options.has_model()) {
    OUTRIDER_TRY(files, open_files(options.command));
    OUTRIDER_TRY_DONE(check_prompts(options.settings.prompts, files->target.shape.vocabulary));
    OUTRIDER_TRY_DONE(add_plans(intent, *files, question));
    question.target = &files->target;
    if (files->drafter) question.drafter = &*files->drafter;
  }
  return bench::run_bench(question, listener);
}

namespace {

base::Result<bench::Report> measure(const BenchOptions& options) {
  const auto count = static_cast<std::int64_t>(options.settings.parts.size());
  std::int64_t done = 0;
  ProgressBar bar("measuring", count);
  return measure_bench(options, {.on_load = {}, .on_part = [&](const std::string&) { bar.show(done++); }});
}

base::Result<int> run(BenchOptions options) {
  std::optional<bench::Report> before;  // read first: a bad file shall not cost a run
  if (options.compare) {
    OUTRIDER_TRY(before, load_report(*options.compare));
  }
  OUTRIDER_TRY_DONE(load_prompts(options));
  OUTRIDER_TRY_DONE(load_text(options));
  OUTRIDER_TRY(bench::Report report, measure(options));
  report.facts.insert(report.facts.begin(), {"version", OUTRIDER_VERSION});
  const plan::Intent& intent = options.command.intent;
  if (options.has_model()) report.facts.emplace_back("model", intent.model);
  if (intent.target.hf_overrides)
    report.facts.emplace_back("overrides", intent.target.hf_overrides->excerpt(200));
  std::printf("%s%s", options.json ? bench::to_json(report).c_str() : bench::to_table(report).c_str(),
              options.json ? "\n" : "");
  if (before) {
    // Beside JSON it goes to the other stream, so that programs can read what they asked for.
    std::fprintf(options.json ? stderr : stdout, "\nagainst %s\n%s", options.compare->c_str(),
                 bench::to_table(bench::compare(*before, report), *before, report).c_str());
  }
  return kDone;
}

}  // namespace

int run_bench(std::span<const std::string> words) {
  if (printed_help(words, "bench [--model DIR] [--speculative-config JSON] [--only LIST] [flags]",
                   "Measures how fast a model runs here, against what the machine allows.", bench_flags(),
                   plan::speculative_keys_help(plan::Use::Bench))) {
    return kDone;
  }
  base::Inspector inspector;
  BenchOptions options = parse_bench(words, inspector);
  if (!inspector.clean()) {
    judge_rest(options.command, inspector);
    return print_refusal(std::move(inspector).refuse());
  }
  auto exit_code = run(std::move(options));
  return exit_code.ok() ? *exit_code : print_refusal(exit_code.error());
}

}  // namespace outrider::cli
