// outrider bench: how fast a model runs here, against what the machine allows.
#include "bench/bench.h"

#include <cstdio>

#include "base/mapped_file.h"
#include "bench/report.h"
#include "cli/bench_flags.h"
#include "cli/commands.h"
#include "cli/open_tokenizer.h"
#include "cli/plan_engine.h"
#include "cli/progress.h"

namespace outrider::cli {
namespace {

void print_warning(const std::string& text) { std::fprintf(stderr, "warning: %s\n", text.c_str()); }

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
  OUTRIDER_TRY(const text::Tokenizer tokenizer, open_tokenizer(*options.model));
  OUTRIDER_TRY(const std::string text, base::read_text_file(*options.text));
  OUTRIDER_TRY(options.settings.held_text, tokenizer.encode(text, /*special=*/false));
  return base::Done{};
}

base::Result<bench::Report> measure(const BenchOptions& options) {
  std::optional<checkpoint::OpenedModel> target;
  std::optional<checkpoint::OpenedDrafter> drafter;
  checkpoint::OpenOptions open{.load_format = options.engine.load_format,
                               .overrides = options.engine.overrides ? &*options.engine.overrides : nullptr};
  if (options.model) {
    OUTRIDER_TRY(target, checkpoint::open_model(*options.model, open, print_warning));
  }
  if (target && options.engine.draft_model) {
    open.overrides = nullptr;  // they are the target's
    OUTRIDER_TRY(drafter,
                 checkpoint::open_drafter(*options.engine.draft_model, target->shape, open, print_warning));
  }
  if (target) {  // judged as every command's flags are; how long sequences get is each part's own choice
    const base::Result<EngineFlags> judged = plan_engine(*options.model, options.engine);
    if (!judged.ok()) return judged.error();
  }
  const bench::Question question{.settings = options.settings,
                                 .engine = options.engine.settings,
                                 .target = target ? &*target : nullptr,
                                 .drafter = drafter ? &*drafter : nullptr};
  const auto count = static_cast<std::int64_t>(options.settings.parts.size());
  std::int64_t done = 0;
  ProgressBar bar("measuring", count);
  return bench::run_bench(question,
                          {.on_load = {}, .on_part = [&](const std::string&) { bar.show(done++); }});
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
  if (options.model) report.facts.emplace_back("model", *options.model);
  if (options.engine.overrides)
    report.facts.emplace_back("overrides", options.engine.overrides->excerpt(200));
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
                   "Measures how fast a model runs here, against what the machine allows.", bench_flags())) {
    return kDone;
  }
  base::Inspector inspector;
  BenchOptions options = parse_bench(words, inspector);
  if (!inspector.clean()) return print_refusal(std::move(inspector).refuse());
  auto exit_code = run(std::move(options));
  return exit_code.ok() ? *exit_code : print_refusal(exit_code.error());
}

}  // namespace outrider::cli
