// Split patterns of tokenizer.json -> PCRE2. The files are written for Oniguruma with Ruby's syntax. Where
// the two dialects differ the pattern is rewritten (\s, \w, \v, \uHHHH, scripts), or refused where that is
// not worth while (\b, \h, classes inside classes, options in mid-pattern, ...): to pass it on as it stands
// would give other ids without a word.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace outrider::text {

// The rule that is broken stands in Error::message. `pattern` is well-formed UTF-8.
base::Result<std::string, base::Error> parse_pattern(std::string_view pattern);

}  // namespace outrider::text
