// The parts of tokenizer.json around the model: normalizer, pre_tokenizer, post_processor, decoder. Each
// reader adds what it finds to the file's value and what is wrong to the report.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/inspector.h"
#include "base/json.h"
#include "text/tokenizer_file.h"

namespace outrider::text {

// Problems of one file; of each part the first 20 and a count.
class FileReport {
 public:
  FileReport(std::string source, base::Inspector& inspector)
      : source_(std::move(source)), inspector_(inspector) {}
  ~FileReport();
  FileReport(const FileReport&) = delete;
  FileReport& operator=(const FileReport&) = delete;

  // `part` is the whole path: "model.merges[3]".
  void report(const std::string& part, std::string found, std::string rule, std::string remedy = "");

  std::size_t count() const { return count_; }
  // True if a list has its 20 already: then the fault is counted, and its text need not be made.
  bool full(const std::string& list);

 private:
  std::string source_;
  base::Inspector& inspector_;
  std::size_t count_ = 0;
  std::map<std::string, std::size_t> counts_;  // by list: "model.merges"
};

void read_normalizer(const base::Json* json, FileReport& report, TokenizerFile& file);
void read_pre_tokenizer(const base::Json* json, FileReport& report, TokenizerFile& file);
void read_post_processor(const base::Json* json, FileReport& report,
                         TokenizerFile& file);  // reads file.known
void check_decoder(const base::Json* json, FileReport& report);

}  // namespace outrider::text
