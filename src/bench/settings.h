// What a benchmark is asked to measure, as a value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"

namespace outrider::bench {

enum class Part { Machine, Decode, Verify, Prefill, Moe, Draft, Speculate, Accuracy };

struct PartRow {
  Part part;
  const char* name;
};
inline constexpr PartRow kParts[] = {
    {Part::Machine, "machine"},     {Part::Decode, "decode"},     {Part::Verify, "verify"},
    {Part::Prefill, "prefill"},     {Part::Moe, "moe"},           {Part::Draft, "draft"},
    {Part::Speculate, "speculate"}, {Part::Accuracy, "accuracy"},
};

struct Prompt {
  std::string name;  // what kind of text it is, for the report
  std::vector<base::TokenId> tokens;
};

struct Settings {
  std::vector<Part> parts;
  int repeats = 7;
  double part_seconds = 60;         // a part makes fewer repeats, but one at least, rather than take longer
  double probe_seconds = 0.2;       // of each probe of the machine
  std::int64_t context = 128;       // positions in the cache before the rows that are measured
  std::int64_t decode_tokens = 16;  // of each repeat of decode
  std::vector<int> verify_rows = {1, 2, 4, 6, 8, 12, 16};
  std::vector<std::int64_t> prefill_tokens = {128, 512, 2048};
  std::vector<Prompt> prompts = {};           // of speculate; empty: one made of random tokens
  std::int64_t output_tokens = 128;           // of each prompt
  std::vector<base::TokenId> held_text = {};  // of accuracy
};

// The longest sequence that any part makes, and the most that are in the cache at once.
std::int64_t positions_needed(const Settings& settings);
std::int64_t sequences_needed(const Settings& settings);

}  // namespace outrider::bench
