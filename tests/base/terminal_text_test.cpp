// SPDX-License-Identifier: Apache-2.0
// No byte sequence may reach a terminal that controls it or reverses its direction.
#include "quern/base/terminal_text.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/utf8.hpp"

namespace quern::terminal_text_test {
namespace {

TEST(terminal_text_test, leaves_text_as_it_is) {
    for (const char* text : {"", "plain", "Zürich, 東京, עברית", "e\u0301 👩‍🚀", "a\u00A0b"})
        EXPECT_EQ(for_terminal(text), text);
}

TEST(terminal_text_test, controls_become_spaces) {
    EXPECT_EQ(for_terminal("a\x1B[2Jb\tc\nd\re\x7F"), "a [2Jb c d e ");
    EXPECT_EQ(for_terminal(std::string_view("a\0b", 3)), "a b");
    EXPECT_EQ(for_terminal("a\u2028b\u2029c"), "a b c");
    EXPECT_EQ(for_terminal("a\tb\r\nc\x07", terminal_lines::many), "a\tb \nc ");
}

TEST(terminal_text_test, c1_controls_and_directions_are_shown) {
    EXPECT_EQ(for_terminal("bad\u009B2Jx"), "bad\uFFFD2Jx");
    EXPECT_EQ(for_terminal("bad\x9B"
                           "2Jx"),
              "bad\uFFFD2Jx");  // as 8-bit terminals interpret it
    EXPECT_EQ(for_terminal("exe\u202Etxt.\u202C \u2066x\u2069"), "exe\uFFFDtxt.\uFFFD \uFFFDx\uFFFD");
    EXPECT_EQ(for_terminal("a\u200Eb\u200Fc\u061Cd"), "abcd");
}

RC_GTEST_PROP(terminal_text_test, nothing_else_gets_through, (const std::string& bytes, bool many)) {
    const auto lines = many ? terminal_lines::many : terminal_lines::one;
    const std::string shown = for_terminal(bytes, lines);
    for (std::size_t at = 0; at < shown.size();) {
        const char32_t c = next_utf8(shown, at);
        RC_ASSERT(c != ill_formed);
        RC_ASSERT(c >= 0x20 || (many && (c == '\n' || c == '\t')));
        RC_ASSERT(!(c >= 0x7F && c < 0xA0));
    }
    RC_ASSERT(for_terminal(shown, lines) == shown);
}

}  // namespace
}  // namespace quern::terminal_text_test
