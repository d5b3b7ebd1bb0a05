// SPDX-License-Identifier: Apache-2.0
#include "outputs.hpp"

#include "quern/base/error.hpp"
#include "quern/tasks/output_file.hpp"
#include "quern/tasks/output_harm.hpp"

namespace quern::python {

void check_result_file(const std::filesystem::path& path, bool overwrite,
                       std::span<const std::filesystem::path> inputs, std::string_view form) {
    if (path.empty()) return;
    refuse_harm(path, inputs);
    check_output(path, {.replace = overwrite, .form = form});
}

void refuse_shared_files(std::span<const std::filesystem::path> results) {
    for (std::size_t i = 0; i < results.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            if (results[i].empty() || results[j].empty() || !same_file(results[i], results[j])) continue;
            throw usage_error("two kinds of results cannot both go to " + results[i].string() +
                              "; give each its own file");
        }
    }
}

void write_result_file(const std::filesystem::path& path, bool overwrite, const context& ctx,
                       const std::function<void(const std::function<void(std::string_view)>&)>& write,
                       std::string_view form) {
    output_file file(path, {.replace = overwrite, .form = form}, ctx);
    write([&](std::string_view bytes) {
        ctx.check_stop();
        file.write(bytes);
    });
    file.commit();
}

}  // namespace quern::python
