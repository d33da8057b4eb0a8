"""tidy.py finds each kind of offence where one was planted, and nothing in a healthy tree."""
import os
import tempfile
import unittest

import tidy

HEALTHY = {
    "src/base/CMakeLists.txt": "module(base\n  FILES x.h x.cc\n  TESTS x_test.cc)\n",
    "src/base/x.h": "// What it is.\n#pragma once\n\nnamespace outrider::base {\nint f();\n}  // namespace\n",
    "src/base/x.cc": '#include "base/x.h"\n\nnamespace outrider::base {\n'
                     'int f() {  // never printf("x") here, nor throw\n  return 1;\n}\n}  // namespace\n',
    "src/base/x_test.cc": "namespace outrider::base {\nTEST(F, GivesTheSameNumberTwice) {}\n}  // namespace\n",
    "docs/a.md": "A page. " + "x" * 200 + "\n",
}


def body(line):
    return f"namespace outrider::base {{\nint f() {{\n  {line}\n}}\n}}  // namespace\n"


# (file, its text, the rule that must be named)
OFFENCES = [
    ("src/base/x.cc", body("return 1;" + " " * 120 + "// far"), "long line"),
    ("src/base/x.cc", body("\n".join(["  g();"] * 81)), "long function"),
    ("src/base/x.cc", body("return 1;") + "//\n" * 500, "long file"),
    ("src/base/x.cc", body('printf("x");'), "output"),
    ("src/base/x.cc", body('std::cout << "x";'), "output"),
    ("src/base/x.cc", body("exit(1);"), "exit"),
    ("src/base/x.cc", body("std::abort();"), "exit"),
    ("src/base/x.cc", body('return getenv("X") != nullptr;'), "environment"),
    ("src/base/x.cc", body("throw 1;"), "throw"),
    ("src/base/x.cc", body("return *const_cast<int*>(p);"), "const_cast"),
    ("src/base/x.cc", body("return _mm256_movemask_epi8(x);"), "intrinsics"),
    ("src/base/x.cc", "#include <immintrin.h>\n" + body("return 1;"), "intrinsics"),
    ("src/base/x.cc", body("static int calls = 0;"), "mutable static"),
    ("src/base/x.cc", body("return 1;  // FIX" + "ME"), "unfinished"),
    ("src/base/x.cc", body("return 1;").replace("::base", "::tensor"), "namespace"),
    ("src/base/x.cc", "int f();\n", "namespace"),
    ("src/base/x.h", "#pragma once\n\nnamespace outrider::base {}\n", "header"),
    ("src/base/x.h", "// What it is.\n\nnamespace outrider::base {}\n", "header"),
    ("src/base/y.cc", body("return 1;"), "unlisted"),
    ("src/base/x_test.cc", "namespace outrider::base {\nTEST(F, Test3) {}\n}  // namespace\n", "test name"),
    ("src/base/x_test.cc", "namespace outrider::base {\nTEST(F, DISABLED_GivesOne) {}\n}\n", "test switched off"),
    ("src/base/x_test.cc", body("std::this_thread::sleep_for(1ms);"), "sleep"),
    ("src/plan/x.cc", "#if defined(__x86" + "_64__)\n#endif\n", "platform"),
    ("docs/a.md", "Look in .." + "/shared for it.\n", "machine path"),
    ("docs/a.md", "Look in /ho" + "me/somebody for it.\n", "machine path"),
    ("cmake/a.cmake", "add_compile_options(-ffast-" + "math)\n", "fast math"),
]


def rules_of(tree):
    with tempfile.TemporaryDirectory() as root:
        for path, text in tree.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        return {(path, rule) for path, _, rule, _ in tidy.offences(root) if path not in tidy.LONG_FILES}


class TidyTest(unittest.TestCase):
    def test_finds_nothing_in_a_healthy_tree(self):
        self.assertEqual(rules_of(HEALTHY), set())

    def test_finds_every_planted_offence(self):
        for path, text, rule in OFFENCES:
            with self.subTest(rule=rule, text=text[:60]):
                self.assertIn((path, rule), rules_of(HEALTHY | {path: text}))

    def test_every_rule_has_a_planted_offence(self):
        planted = {rule for _, _, rule in OFFENCES}
        self.assertLessEqual({ban.rule for ban in tidy.CODE_BANS + tidy.TEXT_BANS}, planted)

    def test_allows_a_word_where_it_belongs(self):
        tree = HEALTHY | {"src/cli/CMakeLists.txt": "module(cli FILES y.cc )\n",
                          "src/cli/y.cc": body('printf("x");').replace("::base", "::cli")}
        self.assertEqual(rules_of(tree), set())


if __name__ == "__main__":
    unittest.main()
