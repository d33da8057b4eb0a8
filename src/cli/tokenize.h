// outrider tokenize, with the input passed in.
#pragma once

#include <istream>
#include <span>
#include <string>

namespace outrider::cli {

int run_tokenize(std::span<const std::string> words, std::istream& input);

}  // namespace outrider::cli
