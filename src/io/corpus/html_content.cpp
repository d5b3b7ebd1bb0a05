// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/html_content.hpp"

#include <array>

#include "io/corpus/html_marks.hpp"

namespace quern::io {

std::vector<bool> choose_main_text(const html_blocks& page) {
    const auto& elements = page.elements;
    const std::size_t count = elements.size();
    std::vector<bool> kept(count, true), in_article(count, false);
    for (std::size_t i = 1; i < count; ++i) {
        const html_element& e = elements[i];
        const html_element& parent = elements[e.parent];
        in_article[i] = in_article[e.parent] || parent.name == html_name::article || parent.name == html_name::main ||
                        parent.name == html_name::section;
        bool aside = (e.marks & html_mark::surrounding) != 0;
        if ((e.name == html_name::header || e.name == html_name::footer) && !in_article[i]) aside = true;
        kept[i] = kept[e.parent] && !aside;
    }
    std::vector<std::uint64_t> total(count, 0);
    for (std::size_t i = count; i-- > 0;) {
        if (!kept[i]) continue;
        total[i] += elements[i].text_bytes;
        if (i != 0) total[elements[i].parent] += total[i];
    }
    std::array<std::size_t, 5> best{}, found{};
    for (std::size_t i = 1; i < count; ++i) {
        const std::uint32_t rank = main_rank(elements[i].marks);
        if (rank != 0 && kept[i] && found[rank]++ == 0) best[rank] = i;
    }
    std::size_t main = 0;
    for (std::size_t rank = 1; rank < 5 && main == 0; ++rank) {
        if (best[rank] == 0 || (rank == 3 && found[rank] > 1)) continue;
        if (total[best[rank]] * 3 >= total[0]) main = best[rank];
    }
    const std::uint32_t heading = page.first_heading;
    for (std::size_t i = 0; i < count; ++i) {
        const bool inside = i >= main && i < elements[main].end;
        const bool in_heading = heading != no_element && i >= heading && i < elements[heading].end;
        if (!inside && !in_heading) kept[i] = false;
    }
    return kept;
}

}  // namespace quern::io
