// The pairs and prompts that the equivalence tests run, and ways to spoil a proposal.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "support/golden.h"
#include "support/loaded.h"

namespace outrider::testing {

// Dense and MoE targets, every kind of head, both layouts, reduced vocabularies, sliding layers.
inline const std::vector<std::string>& drafter_cases() {
  static const std::vector<std::string> cases = {
      "dspark/ds_vanilla_g7",       "dspark/ds_gated_g4_own_embed", "dspark/ds_rnn_g16_moe",
      "dspark/ds_shared_embed_g7",  "dspark/sp_vanilla_b7_reduced", "dspark/sp_rnn_b7_fillin",
      "dspark/sp_gated_b7_sliding", "dflash/zlab_b4_default_taps",  "dflash/sp_b7_fillin_reduced"};
  return cases;
}

struct Pair {
  std::string name;
  std::string target() const { return data_path(name) + "/target"; }
  std::string drafter() const { return data_path(name) + "/drafter"; }
  std::vector<std::vector<base::TokenId>> prompts() const {
    std::vector<std::vector<base::TokenId>> prompts;
    const base::Json json = read_json(data_path(name) + "/golden.json");
    for (const base::Json& golden_case : *at(json, "cases").array())
      prompts.push_back(ids_of(at(golden_case, "prompt_token_ids")));
    return prompts;
  }
};

// bf16 products and cache: the arithmetic where a wrong order of summation shows first.
inline plan::Intent bf16_settings() {
  plan::Intent settings = float32_settings();
  settings.target.dtype = "bfloat16";
  settings.target.max_model_len = 160;
  settings.target.max_num_seqs = 3;
  return settings;
}

// Cuts a proposal at random, and replaces some of its tokens: every pattern of acceptance and rejection comes
// about.
inline std::function<void(const engine::Sequence&, decode::Proposal&)> spoil(unsigned seed, int vocabulary) {
  auto random = std::make_shared<std::mt19937>(seed);
  return [random, vocabulary](const engine::Sequence&, decode::Proposal& proposal) {
    if (proposal.tokens.empty()) return;
    const std::size_t kept = (*random)() % (proposal.tokens.size() + 1);
    proposal.tokens.resize(kept);
    proposal.q.resize(kept);
    if (!proposal.confidences.empty()) proposal.confidences.resize(kept);
    if (kept > 0 && (*random)() % 2 == 0) {
      const std::size_t at = (*random)() % kept;
      proposal.tokens[at] = static_cast<base::TokenId>((*random)() % static_cast<unsigned>(vocabulary));
      proposal.q[at] = decode::OneHot{proposal.tokens[at]};
    }
  };
}

inline std::vector<std::vector<base::TokenId>> tokens_of(const std::vector<engine::Output>& outputs) {
  std::vector<std::vector<base::TokenId>> tokens;
  for (const engine::Output& output : outputs) {
    EXPECT_EQ(output.error, "");
    tokens.push_back(output.tokens);
  }
  return tokens;
}

}  // namespace outrider::testing
