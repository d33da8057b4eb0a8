// tokenizer.json -> a value. Every fault of the file is listed, with the part, its place there, the token or
// pattern, and the rule. Only byte-level BPE is read: what another kind needs is refused by its name. Pure:
// reads no files.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/json.h"
#include "base/result.h"
#include "text/added_tokens.h"
#include "text/merge_table.h"
#include "text/splitter.h"

namespace outrider::text {

struct TokenizerFile {
  std::vector<std::string> pieces;  // by id, as the file writes them; "" where no token has the id
  std::vector<bool> known;          // by id
  std::unordered_map<std::string, base::TokenId> ids;  // of the vocabulary and of the added tokens
  std::vector<MergeRule> merges;
  bool ignore_merges =
      false;  // a piece that is a token as a whole is that token, whatever the merges make of it
  std::vector<AddedToken> added;
  bool nfc = false;
  std::vector<SplitRule> splits;              // applied one after the other
  std::vector<base::TokenId> prefix, suffix;  // the post-processor's special tokens
};

// `source` names the file in messages.
base::Result<TokenizerFile> parse_tokenizer_file(const base::Json& json, const std::string& source);

}  // namespace outrider::text
