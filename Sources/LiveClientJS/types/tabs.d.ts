// One connection for all tabs of a browser.

declare const sharing: unique symbol

/** Makes tabs share a connection, for `share` of `connect`. */
export interface Sharing { readonly [sharing]: true }

/** All tabs of this browser with the same server and `account` share one connection. */
export const allTabs: Sharing
