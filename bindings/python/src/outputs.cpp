// SPDX-License-Identifier: Apache-2.0
#include "outputs.hpp"

#include "quern/base/error.hpp"
#include "quern/tasks/output_file.hpp"

namespace quern::python {

void check_result_file(const std::filesystem::path& path, bool overwrite,
                       std::span<const std::filesystem::path> inputs) {
    if (path.empty()) return;
    for (const std::filesystem::path& input : inputs) {
        std::error_code failure;
        if (std::filesystem::equivalent(path, input, failure))
            throw usage_error(path.string() + " is an input (expected another file for the result)");
    }
    check_output(path, {.replace = overwrite});
}

void write_result_file(const std::filesystem::path& path, bool overwrite, const context& ctx,
                       const std::function<void(const std::function<void(std::string_view)>&)>& write) {
    output_file file(path, {.replace = overwrite}, ctx);
    write([&](std::string_view bytes) {
        ctx.check_stop();
        file.write(bytes);
    });
    file.commit();
}

}  // namespace quern::python
