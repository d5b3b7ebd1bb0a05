// SPDX-License-Identifier: Apache-2.0
// Wikitext of any bytes: no crash, no control characters, clean lines, and the same result twice.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "io/corpus/wikitext.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view source(reinterpret_cast<const char*>(data), size);
    for (const char* const language : {"en", "zh"}) {
        quern::io::wiki_site site;
        site.set_language(language);
        quern::io::clean_text one;
        quern::io::clean_text two;
        quern::io::clean_wikitext(source, site, one);
        quern::io::clean_wikitext(source, site, two);
        if (one.text != two.text || one.links != two.links) std::abort();
        if (one.text.find("\n\n\n") != std::string::npos || one.text.find("  ") != std::string::npos)
            std::abort();
        for (const char c : one.text) {
            if (static_cast<unsigned char>(c) < 0x20 && c != '\n') std::abort();
        }
        for (const std::string& link : one.links) {
            if (link.empty() || link.find_first_of(" \n[]{}|<>") != std::string::npos) std::abort();
        }
    }
    return 0;
}
