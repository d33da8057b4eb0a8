#include "checkpoint/check_tensors.h"

#include <algorithm>
#include <set>

#include "base/inspector.h"
#include "base/strings.h"
#include "checkpoint/folder.h"
#include "checkpoint/safetensors.h"

namespace outrider::checkpoint {
namespace {

bool is_float(tensor::Dtype dtype) {
  return dtype == tensor::Dtype::F32 || dtype == tensor::Dtype::F16 || dtype == tensor::Dtype::BF16;
}

// One line for a whole list of names.
void report_names(const std::string& source, const std::string& what, const std::vector<std::string>& names,
                  const std::string& rule, base::Inspector& inspector) {
  if (names.empty()) return;
  inspector.report({.field = source + ": " + what + " (" + std::to_string(names.size()) + ")",
                    .found = base::list_names(names),
                    .rule = rule,
                    .remedy = ""});
}

// The first 20 and a count, of problems that need a line each.
void report_each(const std::string& source, std::vector<base::Problem> problems, const std::string& what,
                 base::Inspector& inspector) {
  constexpr std::size_t kListed = 20;
  const std::size_t count = problems.size();
  for (std::size_t i = 0; i < std::min(count, kListed); ++i) inspector.report(std::move(problems[i]));
  if (count > kListed) {
    inspector.report({.field = source,
                      .found = std::to_string(count) + " tensors",
                      .rule = what + "; the first " + std::to_string(kListed) + " are listed",
                      .remedy = ""});
  }
}

}  // namespace

base::Result<base::Done> check_tensors(const Checkpoint& checkpoint, const std::vector<TensorSpec>& expected,
                                       const std::vector<std::string>& unread_suffixes) {
  const std::string source = printable_path(checkpoint.path());
  std::vector<std::string> missing, unexpected;
  std::vector<base::Problem> misshapen, mistyped;
  std::set<std::string_view> known;
  for (const TensorSpec& spec : expected) {
    known.insert(spec.name);
    const TensorEntry* entry = checkpoint.find(spec.name);
    if (entry == nullptr) {
      if (!spec.optional) missing.push_back(spec.name);
      continue;
    }
    const std::string field = source + ": " + base::printable(spec.name);
    if (entry->view.shape != spec.shape) {
      misshapen.push_back(
          {.field = field,
           .found = shape_text(entry->view.shape),
           .rule = "must be " + shape_text(spec.shape) + (spec.axes.empty() ? "" : ", which is " + spec.axes),
           .remedy = ""});
    }
    const tensor::Dtype dtype = entry->view.dtype;
    if (spec.dtype ? dtype != *spec.dtype : !is_float(dtype) && !entry->packed_bytes) {
      mistyped.push_back({.field = field,
                          .found = std::string(tensor::name_of(dtype)),
                          .rule = spec.dtype ? "must be " + std::string(tensor::name_of(*spec.dtype))
                                             : "must be F32, F16 or BF16",
                          .remedy = ""});
    }
  }
  for (const auto& [name, entry] : checkpoint.tensors()) {
    const bool unread =
        std::any_of(unread_suffixes.begin(), unread_suffixes.end(),
                    [&name = name](const std::string& suffix) { return name.ends_with(suffix); });
    if (!unread && !known.contains(name)) unexpected.push_back(name);
  }
  base::Inspector inspector;
  report_each(source, std::move(misshapen), "have another shape than the config asks for", inspector);
  report_each(source, std::move(mistyped), "have another dtype than the config asks for", inspector);
  report_names(source, "missing tensors", missing, "the config asks for them", inspector);
  report_names(source, "unexpected tensors", unexpected, "nothing that the config describes reads them",
               inspector);
  if (!inspector.clean()) return std::move(inspector).refuse();
  return base::Done{};
}

}  // namespace outrider::checkpoint
