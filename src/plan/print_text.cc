#include "plan/print_text.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace outrider::plan {
namespace {

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.resize(width, ' ');
  return text;
}
std::string right(const std::string& text, std::size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : " " + text;
}

std::string value_text(const Json& value) {
  if (value.is_null()) return "-";
  if (value.boolean() != nullptr) return *value.boolean() ? "yes" : "no";
  if (value.string() != nullptr) return *value.string();
  return value.excerpt(48);
}

struct Row {
  std::string name, target, draft;
  bool plain = false;  // both at their defaults: left out
};

// Fields of both roles side by side. Settings that are at their default in both roles say nothing and are
// left out.
std::vector<Row> setting_rows(const Plan& plan) {
  std::vector<Row> rows;
  const RoleSettings defaults;
  std::vector<Json> initial, draft;
  base::for_each_field(defaults,
                       [&](const auto&, const auto& value) { initial.push_back(base::json_of(value)); });
  const bool two = plan.draft && plan.draft->role;
  if (two) {
    base::for_each_field(plan.draft->role->settings,
                         [&](const auto&, const auto& value) { draft.push_back(base::json_of(value)); });
  }
  std::size_t at = 0;
  base::for_each_field(plan.target.settings, [&](const auto& field, const auto& member) {
    const std::size_t i = at++;
    if (field.name == "model") return;
    const Json value = base::json_of(member);
    const bool size = std::string_view(field.name).ends_with("parallel_size") &&
                      field.name != "prefill_context_parallel_size" && field.name != "data_parallel_size";
    const bool plain = value == initial[i] && (!two || draft[i] == initial[i]) && !size;
    rows.push_back(
        {std::string(field.note.printed), value_text(value), two ? value_text(draft[i]) : "", plain});
  });
  return rows;
}

std::string ranges_text(std::vector<std::int64_t> numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i;
    while (end + 1 < numbers.size() && numbers[end + 1] == numbers[end] + 1) ++end;
    text += (text.empty() ? "" : ",") + std::to_string(numbers[i]);
    if (end > i) text += (end == i + 1 ? "," : "-") + std::to_string(numbers[end]);
    i = end + 1;
  }
  return text.empty() ? "none" : text;
}

void add_layout_rows(const Plan& plan, std::vector<Row>& rows) {
  const RoleLayout& target = plan.target.layout;
  const RoleLayout* draft = plan.draft && plan.draft->role ? &plan.draft->role->layout : nullptr;
  const auto add = [&](const char* name, const Json& left, const Json& other) {
    rows.push_back({name, value_text(left), draft != nullptr ? value_text(other) : "",
                    left.is_null() && other.is_null()});
  };
  const auto both = [&](const char* name, const auto& pick) {
    add(name, base::json_of(pick(target)), draft != nullptr ? base::json_of(pick(*draft)) : Json());
  };
  rows.push_back({"ranks", ranges_text(target.ranks), draft != nullptr ? ranges_text(draft->ranks) : ""});
  both("kv_heads_per_rank", [](const RoleLayout& layout) { return layout.kv_heads_per_rank; });
  both("expert_parallel_size", [](const RoleLayout& layout) { return layout.expert_parallel_size; });
  both("experts_per_rank", [](const RoleLayout& layout) { return layout.experts_per_rank; });
  both("slots_per_rank", [](const RoleLayout& layout) { return layout.slots_per_rank; });
}

std::string table_text(const std::vector<Row>& rows, bool two) {
  std::string text;
  for (const Row& row : rows) {
    if (row.plain) continue;
    std::string line = "  " + padded(row.name, 36) + padded(row.target, 30);
    if (two) line += row.target == row.draft ? row.draft : row.draft + "  *";
    while (line.ends_with(' ')) line.pop_back();
    text += wrapped(line, 38) + "\n";
  }
  return text;
}

std::string list_json(const std::optional<std::vector<std::int64_t>>& values) {
  return values ? base::json_of(*values).excerpt(60) : "-";
}

std::string drafting_text(const DraftSettings& draft) {
  std::string text = "drafting\n";
  const auto add = [&](const std::string& name, const std::string& value) {
    text += wrapped("  " + padded(name, 36) + value, 38) + "\n";
  };
  add("method", draft.method);
  std::string count = std::to_string(draft.num_speculative_tokens) + " a round";
  if (draft.block_size) count += ", block of " + std::to_string(*draft.block_size) + " rows";
  add("num_speculative_tokens", count);
  if (draft.taps)
    add("taps (target layers)", list_json(draft.taps) + ", on stages " + list_json(draft.tap_stages));
  if (draft.layer_ids) add("numbered as layers", list_json(draft.layer_ids));
  if (draft.draft_vocab_size)
    add("vocabulary",
        std::to_string(*draft.draft_vocab_size) + (*draft.id_map == "none" ? "" : ", mapped by d2t"));
  if (draft.own_embedding && draft.own_head) {
    add("embedding, head", std::string(*draft.own_embedding ? "own" : "the target's") + ", " +
                               (*draft.own_head ? "own" : "the target's"));
  }
  if (draft.needs_target_embedding_on_stage) {
    add("embedding is loaded also on stage", std::to_string(*draft.needs_target_embedding_on_stage));
  }
  if (draft.kv_replicated) add("context", "whole on every rank");
  return text;
}

// What makes ranks alike: everything but who they are.
std::string likeness(const RankPlan& rank) {
  std::string key = std::to_string(rank.stage) + " " + std::to_string(rank.drafts ? 1 : 0);
  base::for_each_field(rank.bytes,
                       [&](const auto&, const std::int64_t& value) { key += " " + std::to_string(value); });
  return key + " " + std::to_string(rank.experts.size()) + " " + std::to_string(rank.draft_experts.size());
}

struct Alike {
  std::string key;
  std::vector<const RankPlan*> members;
};

std::string rank_range(const std::vector<const RankPlan*>& members) {
  std::vector<std::int64_t> ranks;
  for (const RankPlan* rank : members) ranks.push_back(rank->rank);
  std::string text = ranges_text(ranks);
  return text.size() <= 14 ? text
                           : std::to_string(members.size()) + " of " + std::to_string(ranks.front()) + "-" +
                                 std::to_string(ranks.back());
}

std::string ranks_text(const Plan& plan) {
  std::vector<Alike> groups;
  for (const RankPlan& rank : plan.ranks) {
    const std::string key = likeness(rank);
    auto found =
        std::find_if(groups.begin(), groups.end(), [&](const Alike& alike) { return alike.key == key; });
    if (found == groups.end()) found = groups.insert(groups.end(), {.key = key, .members = {}});
    found->members.push_back(&rank);
  }
  std::string text = "ranks that are alike (bytes of each)\n  " + padded("ranks", 15) + right("layers", 9) +
                     right("experts", 8) + right("weights", 11) + right("experts", 11) +
                     right("redundant", 11) + right("drafter", 11) + right("total", 11) +
                     right("KV/token", 10) + "\n";
  constexpr std::size_t kLinesMax = 40;
  for (std::size_t i = 0; i < std::min(groups.size(), kLinesMax); ++i) {
    const RankPlan& rank = *groups[i].members.front();
    const std::string layers = rank.layer_count == 0
                                   ? "-"
                                   : std::to_string(rank.first_layer) + "-" +
                                         std::to_string(rank.first_layer + rank.layer_count - 1);
    text += "  " + padded(rank_range(groups[i].members), 15) + right(layers, 9) +
            right(rank.slot_count ? std::to_string(*rank.slot_count) : "-", 8) +
            right(bytes_text(rank.bytes.target + rank.bytes.tied_copy), 11) +
            right(bytes_text(rank.bytes.experts), 11) + right(bytes_text(rank.bytes.redundant), 11) +
            right(bytes_text(rank.bytes.draft), 11) + right(bytes_text(rank.bytes.total), 11) +
            right(bytes_text(rank.bytes.kv_per_token + rank.bytes.draft_kv_per_token), 10) + "\n";
  }
  if (groups.size() > kLinesMax)
    text += "  ... and " + std::to_string(groups.size() - kLinesMax) + " more kinds: see --json\n";
  return text;
}

std::string totals_text(const Plan& plan) {
  std::string text = "in all: " + bytes_text(plan.bytes.sum_over_ranks) + " on " +
                     std::to_string(plan.ranks.size()) +
                     " rank(s) = " + bytes_text(plan.bytes.bytes_on_disk) + " on disk + " +
                     bytes_text(plan.bytes.replica_bytes) + " of replicas";
  if (plan.bytes.excluded_bytes > 0)
    text += "; left out: " + bytes_text(plan.bytes.excluded_bytes) + " (Engram tables)";
  text = wrapped(text, 2) + "\n";
  std::int64_t kv = 0, draft_kv = 0, buffers = 0;
  for (const RankPlan& rank : plan.ranks) {
    kv = std::max(kv, rank.bytes.kv_sequence);
    draft_kv = std::max(draft_kv, rank.bytes.draft_kv_sequence);
    buffers = std::max(buffers, rank.bytes.buffers);
  }
  const auto& length = plan.target.settings.max_model_len;
  if (length) {
    text += wrapped("keys and values of one sequence of " + std::to_string(*length) +
                        " tokens, fullest rank: " + bytes_text(kv) +
                        (draft_kv > 0 ? ", drafter " + bytes_text(draft_kv) : "") +
                        "; buffers: " + bytes_text(buffers),
                    2) +
            "\n";
  }
  return text;
}

}  // namespace

std::string bytes_text(std::int64_t bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes == 0) return "0";
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) value /= 1024, ++unit;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.2f %s", value, kUnits[unit]);
  return text;
}

std::string wrapped(const std::string& line, std::size_t indent, std::size_t columns) {
  std::string text, rest = line;
  while (rest.size() > columns) {
    std::size_t cut = rest.rfind(' ', columns);
    if (cut == std::string::npos || cut <= indent) cut = rest.find_first_of(" ,", columns);
    if (cut == std::string::npos) break;
    const bool blank = rest[cut] == ' ';
    text += rest.substr(0, blank ? cut : cut + 1) + "\n";
    rest = std::string(indent, ' ') + rest.substr(cut + 1);
  }
  return text + rest;
}

std::string plan_text(const Plan& plan) {
  const bool two = plan.draft && plan.draft->role;
  std::string text = "plan (rules of " + std::string(row_of(plan.engine).title) +
                     "): " + std::to_string(plan.target.layout.world_size) + " rank(s), fingerprint " +
                     plan.fingerprint + "\n\n";
  text += wrapped("target  " + plan.target.settings.model, 8) + "\n";
  if (two) text += wrapped("draft   " + plan.draft->role->settings.model, 8) + "\n";
  text += "\n  " + padded("", 36) +
          (two ? padded("target", 30) + "draft   (* differs)" : std::string("target")) + "\n";
  std::vector<Row> rows = setting_rows(plan);
  add_layout_rows(plan, rows);
  text += table_text(rows, two);
  if (plan.draft) text += "\n" + drafting_text(plan.draft->draft);
  if (!plan.derivations.empty()) {
    text += "\nderivations\n";
    for (const Derivation& derivation : plan.derivations) {
      const bool note = derivation.from == derivation.to;
      const bool given = !derivation.from.is_null();
      const std::string source = derivation.field.starts_with("draft.") ? " (target " : " (given ";
      const std::string from = given ? source + value_text(derivation.from) + ")" : " (not given)";
      const std::string head = note
                                   ? "note " + derivation.field
                                   : "derived " + derivation.field + " = " + value_text(derivation.to) + from;
      text += wrapped("  " + head + ": " + derivation.why, 6) + "\n";
    }
  }
  return text + "\n" + ranks_text(plan) + "\n" + totals_text(plan);
}

std::string refusal_text(Engine engine, const PlanRefusal& refusal) {
  const std::size_t count = refusal.problems.size();
  std::string text = "refused (rules of " + std::string(row_of(engine).title) +
                     "): " + std::to_string(count) + (count == 1 ? " problem" : " problems") + "\n";
  for (const Problem& problem : refusal.problems) {
    text += wrapped("  " + padded(problem.rule, 5) + " " + problem.field +
                        (problem.value.empty() ? "" : " = " + problem.value),
                    8) +
            "\n";
    text += wrapped("        " + problem.message, 10) + "\n";
    if (!problem.remedy.empty()) text += wrapped("        remedy: " + problem.remedy, 10) + "\n";
    if (!problem.reference.empty())
      text += wrapped("        " + std::string(row_of(engine).title) + ": " + problem.reference, 10) + "\n";
  }
  return text;
}

}  // namespace outrider::plan
