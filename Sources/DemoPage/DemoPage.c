// Each file stands where it is edited; the compiler reads it from there (C23 6.10.4), in milliseconds, and knows when it
// has changed. A file that one of these imports needs two lines here; a test of the JavaScript module says so.

#include "DemoPage.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char page_index_html[] = {
#embed "page/index.html"
};
static const unsigned char page_icon_svg[] = {
#embed "page/icon.svg"
};
static const unsigned char page_page_css[] = {
#embed "page/page.css"
};
static const unsigned char page_api_js[] = {
#embed "page/api.js"
};
static const unsigned char page_board_js[] = {
#embed "page/board.js"
};
static const unsigned char page_link_js[] = {
#embed "page/link.js"
};
static const unsigned char page_main_js[] = {
#embed "page/main.js"
};
static const unsigned char page_outbox_js[] = {
#embed "page/outbox.js"
};
static const unsigned char page_views_js[] = {
#embed "page/views.js"
};
static const unsigned char module_core_retry_js[] = {
#embed "../LiveClientJS/core/retry.js"
};
static const unsigned char module_core_actions_js[] = {
#embed "../LiveClientJS/core/actions.js"
};
static const unsigned char module_core_actionrows_js[] = {
#embed "../LiveClientJS/core/actionrows.js"
};
static const unsigned char module_core_connection_attempts_js[] = {
#embed "../LiveClientJS/core/connection-attempts.js"
};
static const unsigned char module_core_connection_stream_js[] = {
#embed "../LiveClientJS/core/connection-stream.js"
};
static const unsigned char module_core_connection_js[] = {
#embed "../LiveClientJS/core/connection.js"
};
static const unsigned char module_core_messages_js[] = {
#embed "../LiveClientJS/core/messages.js"
};
static const unsigned char module_core_tabs_js[] = {
#embed "../LiveClientJS/core/tabs.js"
};
static const unsigned char module_core_ways_js[] = {
#embed "../LiveClientJS/core/ways.js"
};
static const unsigned char module_shell_client_js[] = {
#embed "../LiveClientJS/shell/client.js"
};
static const unsigned char module_shell_environment_js[] = {
#embed "../LiveClientJS/shell/environment.js"
};
static const unsigned char module_shell_link_js[] = {
#embed "../LiveClientJS/shell/link.js"
};
static const unsigned char module_shell_requests_js[] = {
#embed "../LiveClientJS/shell/requests.js"
};
static const unsigned char module_shell_tabs_js[] = {
#embed "../LiveClientJS/shell/tabs.js"
};
static const unsigned char module_shell_updates_js[] = {
#embed "../LiveClientJS/shell/updates.js"
};
static const unsigned char module_shell_websocket_js[] = {
#embed "../LiveClientJS/shell/websocket.js"
};

#define FILE(path, name) {path, name, sizeof name}

static const struct demo_file files[] = {
    FILE("/", page_index_html),
    FILE("/DemoPage/page/icon.svg", page_icon_svg),
    FILE("/DemoPage/page/page.css", page_page_css),
    FILE("/DemoPage/page/api.js", page_api_js),
    FILE("/DemoPage/page/board.js", page_board_js),
    FILE("/DemoPage/page/link.js", page_link_js),
    FILE("/DemoPage/page/main.js", page_main_js),
    FILE("/DemoPage/page/outbox.js", page_outbox_js),
    FILE("/DemoPage/page/views.js", page_views_js),
    FILE("/LiveClientJS/core/actions.js", module_core_actions_js),
    FILE("/LiveClientJS/core/actionrows.js", module_core_actionrows_js),
    FILE("/LiveClientJS/core/retry.js", module_core_retry_js),
    FILE("/LiveClientJS/core/connection-attempts.js", module_core_connection_attempts_js),
    FILE("/LiveClientJS/core/connection-stream.js", module_core_connection_stream_js),
    FILE("/LiveClientJS/core/connection.js", module_core_connection_js),
    FILE("/LiveClientJS/core/messages.js", module_core_messages_js),
    FILE("/LiveClientJS/core/tabs.js", module_core_tabs_js),
    FILE("/LiveClientJS/core/ways.js", module_core_ways_js),
    FILE("/LiveClientJS/shell/client.js", module_shell_client_js),
    FILE("/LiveClientJS/shell/environment.js", module_shell_environment_js),
    FILE("/LiveClientJS/shell/link.js", module_shell_link_js),
    FILE("/LiveClientJS/shell/requests.js", module_shell_requests_js),
    FILE("/LiveClientJS/shell/tabs.js", module_shell_tabs_js),
    FILE("/LiveClientJS/shell/updates.js", module_shell_updates_js),
    FILE("/LiveClientJS/shell/websocket.js", module_shell_websocket_js),
};

size_t demo_file_count(void) { return sizeof files / sizeof files[0]; }

struct demo_file demo_file_at(size_t index) { return files[index]; }
