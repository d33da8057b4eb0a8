#include "plan/rules_eplb_file.h"

#include <algorithm>
#include <map>
#include <set>

#include "plan/derive.h"

namespace outrider::plan {
namespace {

std::int64_t updates_of(const Question& q) {
  return q.intent.eplb_file ? q.intent.eplb_file->layer_updates_per_iter.value_or(0) : 0;
}

struct RowExpectation {
  std::string role;  // "target", "draft"
  std::int64_t experts;
};

// Layers that have experts, and whose.
std::map<std::int64_t, RowExpectation> expected_rows(const Question& q) {
  std::map<std::int64_t, RowExpectation> rows;
  const auto& moe = q.model().moe;
  if (moe) {
    for (const int layer : moe->layers) rows[layer] = {.role = "target", .experts = moe->experts};
  }
  if (q.view && q.view->moe != nullptr) {
    const std::int64_t first =
        q.model().layer_count;  // the drafter's stages stand behind the target's layers (D18)
    for (std::int64_t i = 0; i < q.view->layer_count; ++i)
      rows[first + i] = {.role = "draft", .experts = q.view->moe->experts};
  }
  return rows;
}

void check_row(const std::vector<std::int64_t>& row, std::int64_t layer, const RowExpectation& expected,
               const std::optional<std::int64_t>& slots, Reporter& out) {
  const std::string field = "eplb.initial_global_assignments." + text(layer);
  const auto refuse = [&](const std::string& value, const std::string& why) {
    out.refuse(field, value, expected.role + ": assignment of layer " + text(layer) + " " + why,
               "one entry a slot, each expert of the layer at least once");
  };
  const auto length = static_cast<std::int64_t>(row.size());
  if (slots && length != *slots)
    refuse(text(length), "has " + text(length) + " entries, num_slots is " + text(*slots));
  std::vector<std::int64_t> outside;
  std::vector<bool> seen(static_cast<std::size_t>(std::max<std::int64_t>(expected.experts, 0)), false);
  for (const std::int64_t expert : row) {
    if (expert < 0 || expert >= expected.experts) {
      if (outside.empty() || outside.back() != expert) outside.push_back(expert);
    } else {
      seen[static_cast<std::size_t>(expert)] = true;
    }
  }
  if (!outside.empty()) {
    refuse(text(outside.front()),
           "names expert " + join(outside, 8) + ", the experts are 0.." + text(expected.experts - 1));
  }
  std::vector<std::int64_t> homeless;
  for (std::size_t expert = 0; expert < seen.size(); ++expert) {
    if (!seen[expert]) homeless.push_back(static_cast<std::int64_t>(expert));
  }
  if (!homeless.empty() && (!slots || length >= expected.experts)) {
    refuse("", "gives no slot to " + text(static_cast<std::int64_t>(homeless.size())) + " of " +
                   text(expected.experts) + " experts: " + join(homeless, 8));
  }
}

// "0..60", or the keys where they have gaps.
std::string range_text(std::vector<std::int64_t> keys) {
  if (keys.empty()) return "{}";
  std::sort(keys.begin(), keys.end());
  const bool whole = keys.back() - keys.front() + 1 == static_cast<std::int64_t>(keys.size());
  return whole ? text(keys.front()) + ".." + text(keys.back()) : join(keys, 12);
}

void check_coverage(const Question& q, const std::vector<std::int64_t>& keys,
                    const std::map<std::int64_t, RowExpectation>& rows, Reporter& out) {
  std::map<std::string, std::vector<std::int64_t>> missing;
  std::vector<std::int64_t> extra;
  const std::set<std::int64_t> given(keys.begin(), keys.end());
  const bool draft_given = file_has_draft_rows(*q.intent.eplb_file, q.model().layer_count);
  for (const auto& [layer, expected] : rows) {
    // Under our own rules the drafter's rows switch its balancing on; without them it is off.
    if (expected.role == "draft" && !draft_given && q.is(Engine::Outrider)) continue;
    if (!given.contains(layer)) missing[expected.role].push_back(layer);
  }
  for (const std::int64_t key : given) {
    if (!rows.contains(key)) extra.push_back(key);
  }
  const std::string field = "eplb.initial_global_assignments", found = range_text(keys);
  if (const auto& target = missing["target"]; !target.empty()) {
    out.refuse(field, found, "target: assignment lacks layers [" + join(target) + "]",
               "add a row for each MoE layer");
  }
  if (const auto& draft = missing["draft"]; !draft.empty()) {
    const std::int64_t first = q.model().layer_count;
    out.refuse(field, found,
               "draft: assignment lacks draft layers [" + join(draft) + "] of [" + text(first) + "," +
                   text(first + q.view->layer_count) + ")",
               "the drafter's stages stand behind the target's layers: add a row for each");
  }
  if (!extra.empty()) {
    out.refuse(field, found,
               "target: assignment has rows for layers [" + join(extra) + "], which have no experts",
               "leave them out");
  }
}

}  // namespace

void check_d16(const Question& q, Reporter& out) {
  const std::int64_t updates = updates_of(q);
  if (q.is(Engine::Outrider) && updates < 0) {
    out.refuse("eplb.layer_updates_per_iter", text(updates),
               "eplb file: layer_updates_per_iter=" + text(updates) + " is negative", "0 means static");
  }
  if (!q.is(Engine::Trtllm) || updates <= 0 || !q.view || q.view->moe == nullptr || !q.target.enable_eplb)
    return;
  if (q.view->drafter->method != checkpoint::DraftMethod::DSpark) return;
  out.refuse("eplb.layer_updates_per_iter", text(updates),
             "draft: layer_updates_per_iter=" + text(updates) +
                 " asks for online EPLB, which needs every MoE layer once per step; the draft is skipped "
                 "when no request generates",
             "set layer_updates_per_iter to 0");
}

void check_d17(const Question& q, Reporter& out) {
  if (!q.intent.eplb_file) return;
  const EplbFile& file = *q.intent.eplb_file;
  const std::map<std::int64_t, RowExpectation> rows = expected_rows(q);
  const auto& moe = q.model().moe;
  constexpr std::int64_t kSlotsMax = std::int64_t{1} << 17;
  if (file.num_slots && *file.num_slots > kSlotsMax) {
    out.refuse("eplb.num_slots", text(*file.num_slots),
               "target: num_slots=" + text(*file.num_slots) + " is more than " + text(kSlotsMax),
               "lower num_slots");
  }
  if (q.draft && q.draft->enable_eplb && file.num_slots && *file.num_slots < q.view->moe->experts) {
    out.refuse("eplb.num_slots", text(*file.num_slots),
               "draft: num_slots=" + text(*file.num_slots) + " is less than the drafter's " +
                   text(q.view->moe->experts) + " experts",
               "raise num_slots");
  }
  if (moe && file.num_slots && *file.num_slots < moe->experts) {
    out.refuse("eplb.num_slots", text(*file.num_slots),
               "target: num_slots=" + text(*file.num_slots) + " is less than the " + text(moe->experts) +
                   " experts: some would have no slot",
               "raise num_slots");
  }
  if (q.is(Engine::Trtllm) && !file.num_slots && !file.assignments && !file.is_faulty) {
    out.refuse("eplb.num_slots", "", "target: num_slots is not given", "add num_slots");
  }
  if (!file.assignments) return;
  if (!file.num_slots && !file.is_faulty) {
    out.refuse("eplb.num_slots", "", "target: num_slots is not given beside initial_global_assignments",
               "add num_slots");
  }
  if (file.assignments->empty()) {
    out.refuse("eplb.initial_global_assignments", "{}",
               "target: initial_global_assignments is given and empty: no layer has a placement",
               "leave it out (null) for the default placement, or add a row for each layer");
    return;
  }
  std::vector<std::int64_t> keys;
  for (const auto& [layer, row] : *file.assignments) {
    keys.push_back(layer);
    if (const auto expected = rows.find(layer); expected != rows.end())
      check_row(row, layer, expected->second, file.num_slots, out);
  }
  check_coverage(q, keys, rows, out);
}

}  // namespace outrider::plan
