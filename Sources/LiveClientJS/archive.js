// The past, and what is unread: pages of the archive, the person's inbox, and read marks.

export { LivegateError as ArchiveError, LivegateError, RequestError } from "./core/errors.js"
export { compareEventIDs, eventKey, isEventID, markCovers, readMarkID, readMarkOf } from "./core/eventid.js"
export { LiveArchive } from "./shell/archive.js"
export { ArchivePageSource } from "./shell/archivelist.js"
export { markRead, readKind } from "./shell/readmarks.js"
