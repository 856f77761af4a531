// The past, and what is unread: pages of the archive, the person's inbox, and read marks.

export { compareEventIDs, eventKey, isEventID, markCovers, readMarkID, readMarkOf } from "./core/eventid.js"
export { LiveArchive } from "./shell/archive.js"
export { ArchiveError } from "./shell/archiveerror.js"
export { ArchivePageSource } from "./shell/archivelist.js"
export { RequestError } from "./shell/failures.js"
export { markRead, readKind } from "./shell/readmarks.js"
