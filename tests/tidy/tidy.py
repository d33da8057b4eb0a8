#!/usr/bin/env python3
"""Lists every offence of the tree against the rules of CONTRIBUTING.md that a text can show.

Reads the tree once and prints one line an offence: "path:line: rule: what". Exit code 1 if there is any.
It looks at lines, not at syntax: clang-format has fixed the layout, so that a closing brace at the start of a line
ends a function. `tidy.py [DIR]`; the default is the tree that this file lies in.
"""
import os
import re
import sys

COLUMNS = 120
FILE_LINES = 500
FUNCTION_LINES = 80

# Files that may be longer, with the day that was agreed and why. One that is short again must leave the list.
LONG_FILES = {}
# Macros only.
NO_NAMESPACE = {"src/kernels/target_region.h"}

CODE = (".h", ".cc")
TEXT = CODE + (".py", ".sh", ".md", ".txt", ".cmake", ".json")
# Data and build outputs: not written by hand.
SKIPPED = {".git", "build", "models", "tests/data", "tests/fuzz/corpus"}


class Ban:
    """A word that code must not use, outside the files and folders where it belongs."""

    def __init__(self, rule, pattern, what, allowed=()):
        self.rule, self.pattern, self.what, self.allowed = rule, re.compile(pattern), what, allowed

    def holds_for(self, path):
        """Folders end in a slash; a name without one holds for itself and as an ending."""
        return not any(path.startswith(a) if a.endswith("/") else path.endswith(a) for a in self.allowed)


# Looked for in code without its comments and strings. Words are broken by [] where this file would offend itself.
CODE_BANS = [
    Ban("output", r"\bstd::(cout|cerr|clog)\b|\b(printf|fprintf|puts|fputs|putchar)\s*\(",
        "only src/cli prints", ("src/cli/", "src/base/check.cc", "bench/", "tests/")),
    Ban("exit", r"\b(std::)?(exit|abort|_exit|_Exit|quick_exit|terminate)\s*\(",
        "only main ends the process, by returning",
        ("src/base/check.cc", "steady_test.cc", "tests/fuzz/")),
    Ban("environment", r"\bgetenv\b", "what a function needs stands in its signature", ("src/cli/",)),
    Ban("throw", r"\bthrow\b", "input gives a Result, our own bugs an OUTRIDER_CHECK"),
    Ban("const_cast", r"\bconst_cast\b", "ask the owner instead",
        ("src/base/result.h", "src/base/mapped_file.cc", "src/kernels/pool.h", "src/kernels/pack.cc", "tests/")),
    Ban("intrinsics", r"immintrin\.h|\b_mm\d*_\w+|\b__m(128|256|512)[id]?\b|__builtin_cpu|__AVX",
        "only src/kernels knows instruction sets", ("src/kernels/",)),
    Ban("platform", r"^\s*#\s*(if|ifdef|ifndef|elif)\b.*__(x86_64|i386|aarch64|arm|linux|APPLE|AVX|SSE)",
        "no #if on a platform outside src/kernels and src/base", ("src/kernels/", "src/base/")),
    Ban("mutable static", r"^\s*static (?!const\b|constexpr\b|_|[^=;{]*\()[^=;{]*[\w>&*] \w+ ?(=|;|\{)",
        "what a function needs stands in its signature", ("bench/",)),
    Ban("test switched off", r"\b(DISABLED_\w+|GTEST_SKIP)\b|(EXPECT|ASSERT)_TRUE\(true\)", "mend it or drop it"),
    Ban("sleep", r"\bsleep_for\b|\busleep\s*\(", "wait for the event, not for a time",
        ("src/kernels/pool_test.cc",)),  # falling asleep is what it tests
]
# Looked for in every text, comments included.
TEXT_BANS = [
    Ban("unfinished", r"\b(FIX[M]E|XX[X]|TO[D]O)\b", "finish it, or write an issue"),
    Ban("machine path", r"(?<![\w.])/(home|root|Users|wor[k])/\w|\.\./shar[e]d", "the project stands by itself"),
    Ban("fast math", r"-ffast-mat[h]", "reassociation is written where it is wanted",
        ("docs/", "cmake/warnings.cmake", "CONTRIBUTING.md")),
]
TEST_NAME = re.compile(r"^(TEST|TEST_F|TEST_P|TYPED_TEST)\((\w+), (\w+)\)")


def tree_files(root):
    for folder, folders, names in os.walk(root):
        below = os.path.relpath(folder, root).replace(os.sep, "/")
        prefix = "" if below == "." else below + "/"
        folders[:] = sorted(f for f in folders if prefix + f not in SKIPPED and f != "__pycache__")
        for name in sorted(names):
            if name.endswith(TEXT):
                yield prefix + name


def blank(match):
    return re.sub(r"[^\n]", " ", match.group(0))


def code_only(text):
    """Comments and strings blanked, lines kept; #include lines keep their names."""
    pattern = r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\''
    return re.sub(pattern, blank, text, flags=re.S)


def check_lines(path, lines, report):
    for number, line in enumerate(lines, 1):
        # A raw string is data, and breaking it would change it.
        if path.endswith(CODE + (".py", ".sh")) and len(line) > COLUMNS and 'R"' not in line:
            report(path, number, "long line", f"{len(line)} columns, {COLUMNS} are allowed")
        for ban in TEXT_BANS:
            if ban.holds_for(path) and (found := ban.pattern.search(line)):
                report(path, number, ban.rule, f"{found.group(0).strip()}: {ban.what}")


def check_length(path, lines, report):
    if not path.endswith(CODE + (".py", ".sh")):
        return
    if len(lines) > FILE_LINES and path not in LONG_FILES:
        report(path, len(lines), "long file", f"{len(lines)} lines, {FILE_LINES} are allowed: is it one thing?")
    if len(lines) <= FILE_LINES and path in LONG_FILES:
        report(path, 1, "long file", "is short again: take it off the list in tidy.py")


def check_functions(path, lines, report):
    """A body is closed by a brace alone on its line, and opened by the nearest line above with that indentation."""
    for end, line in enumerate(lines):
        if line not in ("}", "  }"):
            continue
        indent = len(line) - 1
        start = end - 1
        while start > 0 and (not lines[start].strip() or lines[start].startswith("#") or
                             len(lines[start]) - len(lines[start].lstrip()) > indent):
            start -= 1
        if end - start + 1 > FUNCTION_LINES:
            report(path, start + 1, "long function", f"{end - start + 1} lines, {FUNCTION_LINES} are allowed")


def check_code(path, text, report):
    lines = code_only(text).split("\n")
    for number, line in enumerate(lines, 1):
        for ban in CODE_BANS:
            if ban.holds_for(path) and (found := ban.pattern.search(line)):
                report(path, number, ban.rule, f"{found.group(0).strip()}: {ban.what}")
    check_functions(path, lines, report)
    for number, line in enumerate(text.split("\n"), 1):
        named = TEST_NAME.match(line)
        if named and len(re.findall(r"[A-Z]", named.group(3))) < 2:
            report(path, number, "test name", f"{named.group(3)}: names are sentences")


def check_header(path, text, report):
    if not text.startswith("//"):
        report(path, 1, "header", "opens with what it is, what it promises and what it leaves to others")
    if "\n#pragma once\n" not in text:
        report(path, 1, "header", "has no #pragma once")


def check_namespace(path, text, report):
    module = path.split("/")[1]
    spaces = re.findall(r"^namespace outrider(?:::(\w+))?", text, flags=re.M)
    if not spaces and path not in NO_NAMESPACE:
        report(path, 1, "namespace", f"opens no namespace outrider::{module}")
    for space in spaces:
        if space != module and not (space == "" and module == "cli"):
            report(path, 1, "namespace", f"outrider::{space} in the folder of outrider::{module}")


def check_listed(path, texts, report):
    """Every source is named by the nearest CMakeLists.txt above it; fuzz targets are named without their ending."""
    folder = os.path.dirname(path)
    while folder and folder + "/CMakeLists.txt" not in texts:
        folder = os.path.dirname(folder)
    lists = texts.get(folder + "/CMakeLists.txt", "") if folder else ""
    name = path[len(folder) + 1:]
    wanted = [name, re.sub(r"(_fuzz)?\.\w+$", "", name)] if name.endswith("_fuzz.cc") else [name]
    if not any(re.search(r"(^|[\s(])" + re.escape(w) + r"($|[\s)])", lists, flags=re.M) for w in wanted):
        report(path, 1, "unlisted", f"is named by no CMakeLists.txt ({folder or 'none above it'})")


def offences(root):
    found = []

    def report(path, line, rule, what):
        found.append((path, line, rule, what))

    texts = {}
    for path in tree_files(root):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            texts[path] = file.read()
    for path, text in texts.items():
        lines = text.split("\n")
        check_lines(path, lines, report)
        check_length(path, lines[:-1], report)
        if path.endswith(CODE):
            check_code(path, text, report)
            check_listed(path, texts, report)
            if path.startswith("src/"):
                check_namespace(path, text, report)
        if path.endswith(".h"):
            check_header(path, text, report)
    for path in LONG_FILES:
        if path not in texts:
            report(path, 1, "long file", "is gone: take it off the list in tidy.py")
    return found


def main():
    default = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    found = offences(sys.argv[1] if len(sys.argv) > 1 else default)
    for path, line, rule, what in found:
        print(f"{path}:{line}: {rule}: {what}")
    print(f"{len(found)} offences" if found else "tidy")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
