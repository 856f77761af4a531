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
};

size_t demo_file_count(void) { return sizeof files / sizeof files[0]; }

struct demo_file demo_file_at(size_t index) { return files[index]; }
