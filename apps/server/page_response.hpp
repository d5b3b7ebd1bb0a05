// SPDX-License-Identifier: Apache-2.0
// The pages of web/ as responses.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/http.hpp"
#include "server/pages.hpp"
#include "server/served_store.hpp"

namespace quern::server {

/// The files of web/, and the description of the API with its parameters.
class site_pages {
  public:
    explicit site_pages(std::span<const served_store> stores);
    site_pages(const site_pages&) = delete;  // pages point to it
    site_pages& operator=(const site_pages&) = delete;

    /// Null: there is none at this path.
    const page* find(std::string_view path) const;

  private:
    std::string description_, tag_;
    std::vector<page> pages_;
};

/// With its tag; 304 if the client has it.
http_response page_response(const page& page, const http_request& request);

}  // namespace quern::server
