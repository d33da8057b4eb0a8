#include <algorithm>
#include <map>

#include "bench/drafting.h"

namespace outrider::bench {
namespace {

enum class Forced { No, All, None };

const char* name_of(Forced forced) {
  switch (forced) {
    case Forced::No:
      return "as it comes";
    case Forced::All:
      return "all accepted";
    case Forced::None:
      return "none accepted";
  }
  return "";
}

// What decode steps of one request cost; its prompt's do not count.
struct Decoded {
  std::vector<base::TokenId> tokens;
  double seconds = 0;
  double count = 0;
  double rounds = 0, accepted = 0;
};

base::Result<Decoded> run_request(engine::Engine& engine, const Prompt& prompt, std::int64_t tokens_max,
                                  const std::vector<base::TokenId>& stops) {
  const engine::Figures before = engine.figures();
  OUTRIDER_TRY(
      const base::SequenceId id,
      engine.submit({.prompt = prompt.tokens, .sampling = {}, .tokens_max = tokens_max, .stop_tokens = stops},
                    nullptr));
  while (engine.step()) {
  }
  const engine::Output output = engine.output(id);
  engine.forget(id);
  if (!output.error.empty()) {
    return base::refuse({.field = "prompt " + prompt.name, .found = "", .rule = output.error, .remedy = ""});
  }
  const engine::Figures& after = engine.figures();
  return Decoded{.tokens = output.tokens,
                 .seconds = after.decode_seconds - before.decode_seconds,
                 .count = static_cast<double>(after.decoded_tokens - before.decoded_tokens),
                 .rounds = static_cast<double>(after.rounds - before.rounds),
                 .accepted = static_cast<double>(after.accepted_tokens - before.accepted_tokens)};
}

class Comparison {
 public:
  Comparison(const DraftSubject& subject, engine::Engine& plain, engine::Engine& drafting)
      : subject_(subject), plain_(plain), drafting_(drafting) {}

  // Every prompt, plain and drafting in turn; figures by kind of text.
  base::Result<base::Done> run(const std::vector<Prompt>& prompts, Forced forced, const std::string& how) {
    std::map<std::string, Values> by_kind;
    base::Result<base::Done> result = base::Done{};
    repeat(subject_.settings, 0.2, [&](int) {
      for (const Prompt& prompt : prompts) {
        // What acceptance is forced to does not depend on the text.
        const std::string kind = forced == Forced::No ? prompt.name : "all prompts";
        if (result.ok()) result = run_pair(prompt, forced, by_kind[kind]);
      }
    });
    for (auto& [kind, values] : by_kind) report(kind + ", " + name_of(forced) + ", " + how, values);
    return result;
  }
  PartReport take() && { return std::move(part_); }

 private:
  struct Values {
    std::vector<double> plain, drafted, gain, tokens_a_round;
  };

  base::Result<base::Done> run_pair(const Prompt& prompt, Forced forced, Values& values) {
    const std::int64_t count = subject_.settings.output_tokens;
    OUTRIDER_TRY(const Decoded plain, run_request(plain_, prompt, count, subject_.end_tokens));
    force(forced, plain.tokens);
    OUTRIDER_TRY(const Decoded drafted, run_request(drafting_, prompt, count, subject_.end_tokens));
    drafting_.on_proposal = {};
    const bool synthetic = subject_.plan.accept == decode::AcceptMethod::Synthetic;
    if (!synthetic && drafted.tokens != plain.tokens) {
      part_.notes.push_back(prompt.name + ": drafting changed the text, which must never happen");
    }
    if (plain.count == 0 || drafted.count == 0)
      return base::Done{};  // a text of one token: nothing was decoded
    values.plain.push_back(plain.count / plain.seconds);
    values.drafted.push_back(drafted.count / drafted.seconds);
    values.gain.push_back(values.drafted.back() / values.plain.back());
    values.tokens_a_round.push_back(drafted.rounds == 0 ? 1 : 1 + drafted.accepted / drafted.rounds);
    return base::Done{};
  }

  // Proposals are made what the target will write, or what it will not.
  void force(Forced forced, const std::vector<base::TokenId>& written) {
    if (forced == Forced::No) return;
    const auto vocabulary = static_cast<base::TokenId>(subject_.plan.shape.vocabulary);
    drafting_.on_proposal = [forced, written, vocabulary](const engine::Sequence& sequence,
                                                          decode::Proposal& proposal) {
      const auto done = static_cast<std::size_t>(sequence.output_count());
      for (std::size_t i = 0; i < proposal.tokens.size(); ++i) {
        if (done + i >= written.size()) return;
        const base::TokenId right = written[done + i];
        proposal.tokens[i] = forced == Forced::All ? right : (right + 1) % vocabulary;
      }
    };
  }

  void report(const std::string& name, const Values& values) {
    if (values.gain.empty()) return;
    const bool adaptive = name.ends_with("adaptive");
    std::optional<double> target;
    if (adaptive && name.find("as it comes") != std::string::npos) target = 0.95;
    if (adaptive && name.find("all accepted") != std::string::npos) target = 4;
    if (adaptive && name.find("none accepted") != std::string::npos) target = 0.9;
    part_.add(name + ": over plain", "x", Better::More, values.gain, target);
    part_.add(name, "tok/s", Better::More, values.drafted);
    part_.add(name + ": plain beside it", "tok/s", Better::More, values.plain);
    part_.add(name + ": tokens of a drafted round", "", Better::Neither, values.tokens_a_round);
  }

  const DraftSubject& subject_;
  engine::Engine& plain_;
  engine::Engine& drafting_;
  PartReport part_{.part = "speculate"};
};

}  // namespace

base::Result<PartReport> measure_speculate(const DraftSubject& subject) {
  engine::EnginePlan without = subject.plan;
  without.draft.reset();
  if (without.accept == decode::AcceptMethod::Synthetic) without.accept = decode::AcceptMethod::Standard;
  OUTRIDER_TRY(const std::unique_ptr<engine::Engine> plain,
               engine::Engine::open_on(subject.target, std::move(without), nullptr));
  OUTRIDER_TRY(const std::unique_ptr<engine::Engine> drafting,
               engine::Engine::open_on(subject.target, subject.plan, subject.draft_source));
  std::vector<Prompt> prompts = subject.settings.prompts;
  if (prompts.empty()) {
    prompts.push_back({.name = "random tokens",
                       .tokens = random_tokens(subject.settings.context, subject.plan.shape.vocabulary, 5)});
  }
  const bool synthetic = subject.plan.accept == decode::AcceptMethod::Synthetic;
  Comparison comparison(subject, *plain, *drafting);
  const schedule::StepCosts costs = drafting->measure_costs(1.5);
  for (const char* how : {"fixed", "adaptive"}) {
    for (const Forced forced : {Forced::No, Forced::All, Forced::None}) {
      if (synthetic && forced != Forced::No) continue;  // the config forces already
      // Anew for each: what one run taught the scheduler is not the next one's.
      if (std::string(how) == "adaptive") drafting->adapt(costs);
      OUTRIDER_TRY_DONE(comparison.run(prompts, forced, how));
    }
  }
  return std::move(comparison).take();
}

}  // namespace outrider::bench
