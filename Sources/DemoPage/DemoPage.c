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
static const unsigned char page_incidents_js[] = {
#embed "page/incidents.js"
};
static const unsigned char page_main_js[] = {
#embed "page/main.js"
};
static const unsigned char page_outbox_js[] = {
#embed "page/outbox.js"
};
static const unsigned char page_sign_js[] = {
#embed "page/sign.js"
};
static const unsigned char page_views_js[] = {
#embed "page/views.js"
};
static const unsigned char module_core_actionrows_js[] = {
#embed "../LiveClientJS/core/actionrows.js"
};
static const unsigned char module_core_actions_js[] = {
#embed "../LiveClientJS/core/actions.js"
};
static const unsigned char module_core_bound_js[] = {
#embed "../LiveClientJS/core/bound.js"
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
static const unsigned char module_core_copy_js[] = {
#embed "../LiveClientJS/core/copy.js"
};
static const unsigned char module_core_counting_js[] = {
#embed "../LiveClientJS/core/counting.js"
};
static const unsigned char module_core_entry_js[] = {
#embed "../LiveClientJS/core/entry.js"
};
static const unsigned char module_core_errors_js[] = {
#embed "../LiveClientJS/core/errors.js"
};
static const unsigned char module_core_fetches_js[] = {
#embed "../LiveClientJS/core/fetches.js"
};
static const unsigned char module_core_found_js[] = {
#embed "../LiveClientJS/core/found.js"
};
static const unsigned char module_core_freshness_js[] = {
#embed "../LiveClientJS/core/freshness.js"
};
static const unsigned char module_core_gate_js[] = {
#embed "../LiveClientJS/core/gate.js"
};
static const unsigned char module_core_intervals_js[] = {
#embed "../LiveClientJS/core/intervals.js"
};
static const unsigned char module_core_known_js[] = {
#embed "../LiveClientJS/core/known.js"
};
static const unsigned char module_core_messages_js[] = {
#embed "../LiveClientJS/core/messages.js"
};
static const unsigned char module_core_outcome_js[] = {
#embed "../LiveClientJS/core/outcome.js"
};
static const unsigned char module_core_partial_js[] = {
#embed "../LiveClientJS/core/partial.js"
};
static const unsigned char module_core_pending_js[] = {
#embed "../LiveClientJS/core/pending.js"
};
static const unsigned char module_core_recent_js[] = {
#embed "../LiveClientJS/core/recent.js"
};
static const unsigned char module_core_relevance_js[] = {
#embed "../LiveClientJS/core/relevance.js"
};
static const unsigned char module_core_retry_js[] = {
#embed "../LiveClientJS/core/retry.js"
};
static const unsigned char module_core_sharedactions_js[] = {
#embed "../LiveClientJS/core/sharedactions.js"
};
static const unsigned char module_core_stored_js[] = {
#embed "../LiveClientJS/core/stored.js"
};
static const unsigned char module_core_tabs_js[] = {
#embed "../LiveClientJS/core/tabs.js"
};
static const unsigned char module_core_tabwords_js[] = {
#embed "../LiveClientJS/core/tabwords.js"
};
static const unsigned char module_core_tokens_js[] = {
#embed "../LiveClientJS/core/tokens.js"
};
static const unsigned char module_core_update_js[] = {
#embed "../LiveClientJS/core/update.js"
};
static const unsigned char module_core_updatecore_js[] = {
#embed "../LiveClientJS/core/updatecore.js"
};
static const unsigned char module_core_ways_js[] = {
#embed "../LiveClientJS/core/ways.js"
};
static const unsigned char module_actions_js[] = {
#embed "../LiveClientJS/actions.js"
};
static const unsigned char module_connection_js[] = {
#embed "../LiveClientJS/connection.js"
};
static const unsigned char module_core_js[] = {
#embed "../LiveClientJS/core.js"
};
static const unsigned char module_counting_js[] = {
#embed "../LiveClientJS/counting.js"
};
static const unsigned char module_livegate_js[] = {
#embed "../LiveClientJS/livegate.js"
};
static const unsigned char module_machine_js[] = {
#embed "../LiveClientJS/machine.js"
};
static const unsigned char module_screens_js[] = {
#embed "../LiveClientJS/screens.js"
};
static const unsigned char module_shell_actionerror_js[] = {
#embed "../LiveClientJS/shell/actionerror.js"
};
static const unsigned char module_shell_actionrequests_js[] = {
#embed "../LiveClientJS/shell/actionrequests.js"
};
static const unsigned char module_shell_actions_js[] = {
#embed "../LiveClientJS/shell/actions.js"
};
static const unsigned char module_shell_actionstore_js[] = {
#embed "../LiveClientJS/shell/actionstore.js"
};
static const unsigned char module_shell_actiontabs_js[] = {
#embed "../LiveClientJS/shell/actiontabs.js"
};
static const unsigned char module_shell_client_js[] = {
#embed "../LiveClientJS/shell/client.js"
};
static const unsigned char module_shell_debug_js[] = {
#embed "../LiveClientJS/shell/debug.js"
};
static const unsigned char module_shell_detailsscreens_js[] = {
#embed "../LiveClientJS/shell/detailsscreens.js"
};
static const unsigned char module_shell_environment_js[] = {
#embed "../LiveClientJS/shell/environment.js"
};
static const unsigned char module_shell_failures_js[] = {
#embed "../LiveClientJS/shell/failures.js"
};
static const unsigned char module_shell_following_js[] = {
#embed "../LiveClientJS/shell/following.js"
};
static const unsigned char module_shell_gate_js[] = {
#embed "../LiveClientJS/shell/gate.js"
};
static const unsigned char module_shell_indexeddb_js[] = {
#embed "../LiveClientJS/shell/indexeddb.js"
};
static const unsigned char module_shell_link_js[] = {
#embed "../LiveClientJS/shell/link.js"
};
static const unsigned char module_shell_machine_js[] = {
#embed "../LiveClientJS/shell/machine.js"
};
static const unsigned char module_shell_machinerequests_js[] = {
#embed "../LiveClientJS/shell/machinerequests.js"
};
static const unsigned char module_shell_memorystore_js[] = {
#embed "../LiveClientJS/shell/memorystore.js"
};
static const unsigned char module_shell_missed_js[] = {
#embed "../LiveClientJS/shell/missed.js"
};
static const unsigned char module_shell_namedlist_js[] = {
#embed "../LiveClientJS/shell/namedlist.js"
};
static const unsigned char module_shell_pendingrequests_js[] = {
#embed "../LiveClientJS/shell/pendingrequests.js"
};
static const unsigned char module_shell_requests_js[] = {
#embed "../LiveClientJS/shell/requests.js"
};
static const unsigned char module_shell_screenlists_js[] = {
#embed "../LiveClientJS/shell/screenlists.js"
};
static const unsigned char module_shell_screens_js[] = {
#embed "../LiveClientJS/shell/screens.js"
};
static const unsigned char module_shell_screensapi_js[] = {
#embed "../LiveClientJS/shell/screensapi.js"
};
static const unsigned char module_shell_screentoken_js[] = {
#embed "../LiveClientJS/shell/screentoken.js"
};
static const unsigned char module_shell_snapshots_js[] = {
#embed "../LiveClientJS/shell/snapshots.js"
};
static const unsigned char module_shell_storedlists_js[] = {
#embed "../LiveClientJS/shell/storedlists.js"
};
static const unsigned char module_shell_tabs_js[] = {
#embed "../LiveClientJS/shell/tabs.js"
};
static const unsigned char module_shell_tokens_js[] = {
#embed "../LiveClientJS/shell/tokens.js"
};
static const unsigned char module_shell_updates_js[] = {
#embed "../LiveClientJS/shell/updates.js"
};
static const unsigned char module_shell_websocket_js[] = {
#embed "../LiveClientJS/shell/websocket.js"
};
static const unsigned char module_tabs_js[] = {
#embed "../LiveClientJS/tabs.js"
};

#define FILE(path, name) {path, name, sizeof name}

static const struct demo_file files[] = {
    FILE("/", page_index_html),
    FILE("/DemoPage/page/icon.svg", page_icon_svg),
    FILE("/DemoPage/page/page.css", page_page_css),
    FILE("/DemoPage/page/api.js", page_api_js),
    FILE("/DemoPage/page/incidents.js", page_incidents_js),
    FILE("/DemoPage/page/main.js", page_main_js),
    FILE("/DemoPage/page/outbox.js", page_outbox_js),
    FILE("/DemoPage/page/sign.js", page_sign_js),
    FILE("/DemoPage/page/views.js", page_views_js),
    FILE("/LiveClientJS/core/actionrows.js", module_core_actionrows_js),
    FILE("/LiveClientJS/core/actions.js", module_core_actions_js),
    FILE("/LiveClientJS/core/bound.js", module_core_bound_js),
    FILE("/LiveClientJS/core/connection-attempts.js", module_core_connection_attempts_js),
    FILE("/LiveClientJS/core/connection-stream.js", module_core_connection_stream_js),
    FILE("/LiveClientJS/core/connection.js", module_core_connection_js),
    FILE("/LiveClientJS/core/copy.js", module_core_copy_js),
    FILE("/LiveClientJS/core/counting.js", module_core_counting_js),
    FILE("/LiveClientJS/core/entry.js", module_core_entry_js),
    FILE("/LiveClientJS/core/errors.js", module_core_errors_js),
    FILE("/LiveClientJS/core/fetches.js", module_core_fetches_js),
    FILE("/LiveClientJS/core/found.js", module_core_found_js),
    FILE("/LiveClientJS/core/freshness.js", module_core_freshness_js),
    FILE("/LiveClientJS/core/gate.js", module_core_gate_js),
    FILE("/LiveClientJS/core/intervals.js", module_core_intervals_js),
    FILE("/LiveClientJS/core/known.js", module_core_known_js),
    FILE("/LiveClientJS/core/messages.js", module_core_messages_js),
    FILE("/LiveClientJS/core/outcome.js", module_core_outcome_js),
    FILE("/LiveClientJS/core/partial.js", module_core_partial_js),
    FILE("/LiveClientJS/core/pending.js", module_core_pending_js),
    FILE("/LiveClientJS/core/recent.js", module_core_recent_js),
    FILE("/LiveClientJS/core/relevance.js", module_core_relevance_js),
    FILE("/LiveClientJS/core/retry.js", module_core_retry_js),
    FILE("/LiveClientJS/core/sharedactions.js", module_core_sharedactions_js),
    FILE("/LiveClientJS/core/stored.js", module_core_stored_js),
    FILE("/LiveClientJS/core/tabs.js", module_core_tabs_js),
    FILE("/LiveClientJS/core/tabwords.js", module_core_tabwords_js),
    FILE("/LiveClientJS/core/tokens.js", module_core_tokens_js),
    FILE("/LiveClientJS/core/update.js", module_core_update_js),
    FILE("/LiveClientJS/core/updatecore.js", module_core_updatecore_js),
    FILE("/LiveClientJS/core/ways.js", module_core_ways_js),
    FILE("/LiveClientJS/actions.js", module_actions_js),
    FILE("/LiveClientJS/connection.js", module_connection_js),
    FILE("/LiveClientJS/core.js", module_core_js),
    FILE("/LiveClientJS/counting.js", module_counting_js),
    FILE("/LiveClientJS/livegate.js", module_livegate_js),
    FILE("/LiveClientJS/machine.js", module_machine_js),
    FILE("/LiveClientJS/screens.js", module_screens_js),
    FILE("/LiveClientJS/shell/actionerror.js", module_shell_actionerror_js),
    FILE("/LiveClientJS/shell/actionrequests.js", module_shell_actionrequests_js),
    FILE("/LiveClientJS/shell/actions.js", module_shell_actions_js),
    FILE("/LiveClientJS/shell/actionstore.js", module_shell_actionstore_js),
    FILE("/LiveClientJS/shell/actiontabs.js", module_shell_actiontabs_js),
    FILE("/LiveClientJS/shell/client.js", module_shell_client_js),
    FILE("/LiveClientJS/shell/debug.js", module_shell_debug_js),
    FILE("/LiveClientJS/shell/detailsscreens.js", module_shell_detailsscreens_js),
    FILE("/LiveClientJS/shell/environment.js", module_shell_environment_js),
    FILE("/LiveClientJS/shell/failures.js", module_shell_failures_js),
    FILE("/LiveClientJS/shell/following.js", module_shell_following_js),
    FILE("/LiveClientJS/shell/gate.js", module_shell_gate_js),
    FILE("/LiveClientJS/shell/indexeddb.js", module_shell_indexeddb_js),
    FILE("/LiveClientJS/shell/link.js", module_shell_link_js),
    FILE("/LiveClientJS/shell/machine.js", module_shell_machine_js),
    FILE("/LiveClientJS/shell/machinerequests.js", module_shell_machinerequests_js),
    FILE("/LiveClientJS/shell/memorystore.js", module_shell_memorystore_js),
    FILE("/LiveClientJS/shell/missed.js", module_shell_missed_js),
    FILE("/LiveClientJS/shell/namedlist.js", module_shell_namedlist_js),
    FILE("/LiveClientJS/shell/pendingrequests.js", module_shell_pendingrequests_js),
    FILE("/LiveClientJS/shell/requests.js", module_shell_requests_js),
    FILE("/LiveClientJS/shell/screenlists.js", module_shell_screenlists_js),
    FILE("/LiveClientJS/shell/screens.js", module_shell_screens_js),
    FILE("/LiveClientJS/shell/screensapi.js", module_shell_screensapi_js),
    FILE("/LiveClientJS/shell/screentoken.js", module_shell_screentoken_js),
    FILE("/LiveClientJS/shell/snapshots.js", module_shell_snapshots_js),
    FILE("/LiveClientJS/shell/storedlists.js", module_shell_storedlists_js),
    FILE("/LiveClientJS/shell/tabs.js", module_shell_tabs_js),
    FILE("/LiveClientJS/shell/tokens.js", module_shell_tokens_js),
    FILE("/LiveClientJS/shell/updates.js", module_shell_updates_js),
    FILE("/LiveClientJS/shell/websocket.js", module_shell_websocket_js),
    FILE("/LiveClientJS/tabs.js", module_tabs_js),
};

size_t demo_file_count(void) { return sizeof files / sizeof files[0]; }

struct demo_file demo_file_at(size_t index) { return files[index]; }
