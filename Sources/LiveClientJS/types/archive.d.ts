// The past, and what is unread: pages of the archive, the person's inbox, and read marks.

export { LivegateError, LivegateError as ArchiveError } from "./errors.js"
import { ActionResult, DeferredAction, LiveActions } from "./actions.js"
import { Client, LiveEvent } from "./connection.js"
import { Thing } from "./machine.js"
import { AbortSignal } from "./platform.js"
import { FoundThing, ListKey, ListPage, PageRequest } from "./screens.js"

/**
 * An event's id in the archive (`aid`): the same on every node and transport, so it identifies an event of a page and the same event
 * of the stream. It is the server's text: keep it and send it back as it is. Ids are in the order of their bytes.
 */
export type EventID = string

/** Whether a server can have sent it: 1 to 40 characters that a URL carries unchanged. */
export function isEventID(text: unknown): text is EventID
/** Below, at or above 0: `a` happened before, with or after `b`. */
export function compareEventIDs(a: EventID, b: EventID): number
/** The position of an event in a list of the past: the oldest is the first. */
export function eventKey(aid: EventID): ListKey

/** An event of the archive, or of a stream that has been asked for ids. */
export interface ArchivedEvent extends LiveEvent { aid: EventID }

/** How far a person has read: up to an event, of one thing or of everything. It never goes back. */
export interface ReadMark {
    /** Absent: everything of the account. */
    thing?: Thing
    /** The last event that was read; those before it were, too. */
    upTo: EventID
}
/** Whether a mark covers an event of a thing. */
export function markCovers(mark: ReadMark, aid: EventID, thing: Thing): boolean

/** Which events of the past are asked for. Without anything: all, the newest first. */
export interface ArchiveRequest {
    /** Only what is older than this event, which need not exist any more. */
    before?: EventID
    /** Only what is newer than this event, which need not exist any more. */
    after?: EventID
    /** Only what is stamped then or later, in ms of Unix time. */
    from?: number
    /** Only what is stamped earlier than that, in ms of Unix time. */
    to?: number
    /** Only events of these entities; none: of those that the client has. */
    entities?: string[]
    /** Only events of this thing; `entities` do not count then. */
    thing?: Thing
    /** Which end comes first: the newest. */
    order?: "newestFirst" | "oldestFirst"
    /** The most events of a page: 50. A server gives no more than 500 at once. */
    limit?: number
}

/** A page of an account's past. */
export interface ArchivePage {
    /** In the order that was asked for. */
    events: ArchivedEvent[]
    /** Whether something follows in this direction. */
    more: boolean
    /**
     * The cursor from which to go live: from it on nothing is missing after the page, and what is in both arrives twice. Absent where
     * the page cannot contain the newest event.
     */
    at?: string
    /** Where the archive does not have what happened. */
    gaps: ArchiveGap[]
}

/** A time of which the archive may lack events: Kafka did not have them any more when they were to be written. */
export interface ArchiveGap {
    /** The last time stamp before it, in ms of Unix time. */
    from: number
    /** The first time stamp after it; absent: nothing has happened since. */
    to?: number
}

/** Which lines of a person's inbox are asked for. Without anything: all, the most recent first. */
export interface InboxRequest {
    /** Only things whose last event is older than this one. */
    before?: EventID
    /** Only things of these entities; none: of those that the client has. */
    entities?: string[]
    /** Only things with something unread. */
    isUnreadOnly?: boolean
    /** The most things of a page: 50. A server gives no more than 500 at once. */
    limit?: number
}

/** A line of an inbox: a thing, what happened to it last, and how much of it this person has not read. */
export interface InboxThing {
    thing: Thing
    /** The event that a mark of the whole thing leads to. */
    last: ArchivedEvent
    /** Events that this person has not read; 999 stands for more, too. */
    unread: number
}

/** A page of a person's inbox, the most recent thing first. */
export interface InboxPage {
    things: InboxThing[]
    /** How many things of the account have something unread, whatever was asked for: the badge. */
    unreadThings: number
    /** Whether older things follow. */
    more: boolean
    /** The cursor from which to go live: with the events after it the page stays true. */
    at: string
}

/** Pages, each asked for when it is read. Each iteration begins again; after an error the next `next()` asks for the same page. */
export interface ArchivePages<Page> extends AsyncIterable<Page> {
    [Symbol.asyncIterator](): AsyncIterableIterator<Page>
}

/**
 * The past of a client's account: pages of events, the person's inbox, and read marks. No stream is needed for it.
 *
 * After a 401 a token is fetched once more. The wait of `Retry-After` is kept, up to `patience`. An aborted signal throws its
 * reason, and a closed client a `LivegateError`; everything else is an `ArchiveError`. Reading never consumes: each device sees all
 * of it.
 */
export class LiveArchive {
    /** @param options `patience`: a request waits altogether so long because the server asks for it, in ms: 30,000 */
    constructor(client: Client, options?: { patience?: number })
    /** One page of the past. */
    page(request?: ArchiveRequest, options?: { signal?: AbortSignal }): Promise<ArchivePage>
    /** The pages of the past from a request on. Stable: each event once, while new ones happen. */
    pages(request?: ArchiveRequest, options?: { signal?: AbortSignal }): ArchivePages<ArchivePage>
    /** One page of the person's inbox. */
    inbox(request?: InboxRequest, options?: { signal?: AbortSignal }): Promise<InboxPage>
    /**
     * The pages of the person's inbox from a request on. A thing to which something happens meanwhile moves up and arrives by the
     * stream.
     */
    inboxPages(request?: InboxRequest, options?: { signal?: AbortSignal }): ArchivePages<InboxPage>
    /**
     * This person has read a thing up to this event; without a thing, everything. All streams of the person get `{read}`. To show it
     * at once and send it when there is a network: `markRead` of this module.
     */
    markRead(mark: ReadMark, options?: { signal?: AbortSignal }): Promise<void>
    /**
     * Sends actions of the kind `readKind`, for `send` of `openActions`, where an app sends the others to its own API. Throws a
     * `RequestError` where nothing was answered. What is not answered after 20 s has no result, and the actions send it again.
     */
    sendReadMarks(actions: DeferredAction[], signal?: AbortSignal): Promise<ActionResult[]>
}

/** The kind of the deferrable actions that are read marks. */
export const readKind: "read"
/**
 * A read mark as a deferrable action: shown at once, kept on the device, sent when there is a network. A mark that reaches no further
 * than the pending one, or than `from`, changes nothing. `from`: up to where it was read until now, for an undo.
 */
export function markRead(actions: LiveActions, mark: ReadMark, options?: { from?: EventID }): Promise<void>
/** The id of the action that marks a thing, `["incident","PAM4FGS"]`; of everything it is `[]`. */
export function readMarkID(thing?: Thing | null): string
/** The mark that an action of the kind `readKind` means; null: its id is none of `readMarkID`. */
export function readMarkOf(action: { id: string, value: string }): ReadMark | null

/**
 * The archive as a list, for `page` of `Screens`: each event an item, whose id is its `aid`. The very beginning is the oldest event,
 * the very end is now: a screen that begins with the newest shows it from `{ end: {} }` backward.
 */
export class ArchivePageSource {
    /**
     * @param wanted of which entities, or which thing; its limits and order are those of each page
     * @param options `onGaps` is called with the gaps of each page that has some: there the list lacks what happened
     */
    constructor(archive: LiveArchive, wanted?: ArchiveRequest, options?: { onGaps?: (gaps: ArchiveGap[]) => void })
    /** The events from an end on. Throws a `RequestError`, as screens expect. */
    page(options: { request: PageRequest, signal?: AbortSignal }): Promise<ListPage<ArchivedEvent>>
    /**
     * Keeps a live event, so that `reload` returns it without asking, and a page that the archive sent too early contains it.
     * 1,000 are kept. False: it has no id, or is not wanted, so the list has no position for it.
     */
    keep(event: LiveEvent): boolean
    /** Forgets what was kept: for `resync`, which also reports an erasing. */
    forget(): void
    /** An item's event, for `reload` of `Screens`. Throws a `RequestError`. */
    reload(thing: { id: EventID }, options?: { signal?: AbortSignal }): Promise<FoundThing<ArchivedEvent>>
    /** What it asks the archive for. */
    asking(request: PageRequest): ArchiveRequest
}
