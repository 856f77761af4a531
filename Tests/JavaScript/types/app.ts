// A small app, as an app's developer writes it: it is only compiled (types.test.js).
import { PartialList } from "../../../Sources/LiveClientJS/core.js"
import { useConnectionState, useLiveList, useMachine, usePending, useSnapshot, useThing } from "../../../Sources/LiveClientJS/react.js"
import { RefreshCounts } from "../../../Sources/LiveClientJS/counting.js"
import {
    ArchiveError, ArchivePageSource, LiveArchive, eventKey, isEventID, markCovers, markRead, readKind, readMarkOf,
} from "../../../Sources/LiveClientJS/archive.js"
import {
    IndexedDBActionStore, LivegateError, MemoryStore, RequestError, Screens, connect, createMachine, entryOf, keyOf, openActions, openStore,
} from "../../../Sources/LiveClientJS/livegate.js"
import type { ArchivedEvent, EventID, InboxPage } from "../../../Sources/LiveClientJS/archive.js"
import type {
    ConnectionState, Freshness, ListKey, LiveActions, LiveTime, LiveUpdate, Thing,
} from "../../../Sources/LiveClientJS/livegate.js"

const counts = new RefreshCounts()
console.log(new PartialList().stretch?.isComplete)

interface Incident { id: string, title: string }

const client = connect({ url: "https://live.example.com", token: async ({ fresh }) => fresh ? "another" : "one" })

function sign(state: ConnectionState): string {
    const { waiting } = state
    if (waiting) return `waiting for ${waiting.why} until ${waiting.until ?? "it is back"}`
    return state.connected ? "live" : entryOf(state)[0]
}
const unwatch: () => void = client.watch(state => console.log(sign(state)))

const machine = createMachine<Incident>(client, {
    area: "incidents",
    entities: ["incident"],
    store: new MemoryStore(),
    seed: 1,
    async snapshot({ signal }) {
        const answer = RequestError.check(await fetch("/api/incidents", { signal }))
        const incidents: Incident[] = await answer.json()
        return incidents.map((incident): [string, Incident] => [keyOf({ entity: "incident", id: incident.id }), incident])
    },
    async reload(thing: Thing, { signal }) {
        return RequestError.check(await fetch(`/api/incidents/${thing.id}`, { signal })).json()
    },
    shown(times: LiveTime[]) {
        for (const { thing, ts } of times) counts.handle({ shown: { screen: thing.entity, ts } }, client.environment.now())
    },
})
machine.watch(() => {
    const freshness: Freshness | undefined = machine.sign
    if (machine.end?.refused) console.log(machine.end.refused.status)
    for (const incident of machine.entries.values()) console.log(incident.title, freshness)
})

const placeOf = (incident: Incident): ListKey => ({ rank: 0, text: incident.id })
let screens: Screens<Incident> | undefined
const shown = createMachine<Incident>(client, {
    area: "shown", snapshot: async () => [],
    screens: onReload => screens = new Screens<Incident>({
        environment: client.environment, onReload,
        api: {
            reload: async ({ id }, { signal }) => (
                { value: await RequestError.check(await fetch(`/api/incidents/${id}`, { signal })).json() }),
            page: async ({ list, request, signal }) => {
                const answer = await fetch(`/api/${list}?limit=${request.limit}`, { signal })
                const incidents: Incident[] = await RequestError.check(answer).json()
                const items = incidents.map(value => ({ id: value.id, key: placeOf(value), value }))
                return { items, isLast: items.length < request.limit }
            },
        },
    }),
})
screens?.list({ name: "open", entity: "incident", key: placeOf, listener: ({ items }) => console.log(items[0]?.value?.title) })
    .show({ from: { beginning: {} }, direction: "forward", count: 20 })
const { subscribe, getSnapshot } = machine
subscribe(() => console.log([...getSnapshot().entries.values()][0]?.title, "connected" in client.connection.getSnapshot()))
const opened = screens?.details("one", { entity: "incident", id: "I1" })
opened?.subscribe(() => console.log(opened.getSnapshot().value?.title, screens?.getSnapshot().isComplete))
export function Component({ kept, of }: { kept: LiveActions, of: Screens<Incident> }): string {
    const list = of.list({ name: "hook", entity: "incident", key: placeOf }), { refresh, value } = useThing(of, { entity: "incident", id: "I1" })
    const titles: (string | undefined)[] = useLiveList(list).items.map(item => item.value?.title)
    if (useSnapshot(of).hasFailed) refresh()
    return [...titles, value?.title, useMachine(machine).entries.size, usePending(kept)[0]?.kind, sign(useConnectionState(client))].join()
}
export function signedIn(): void { for (const one of [machine, shown]) one.tokenChanged() }

export async function actions(): Promise<void> {
    const store = await openStore({ account: "PACC1", server: "https://live.example.com", schema: 1 })
    const kept = new IndexedDBActionStore({ store, show: (kind, id, value) => console.log(kind, id, value) })
    const opened = await openActions({
        environment: { now: () => Date.now() },
        store: kept, renewToken: () => client.token({ fresh: true }), changed: () => console.log("another tab"),
        send: async (sent, signal) => {
            const answer = await fetch("/api/actions", { method: "POST", body: JSON.stringify(sent), signal })
            return RequestError.check(answer).json()
        },
    })
    await opened.set("incident.read", "I1", "true", "false")
}

export async function read(): Promise<void> {
    try {
        for await (const update of client.updates()) {
            const last: LiveUpdate = update
            if (last.event) console.log(last.event.entity, last.event.id, last.event.type)
        }
    } catch (error) {
        if (error instanceof LivegateError && error.kind === "revoked") unwatch()
    }
}

export async function past(kept: LiveActions, abort: AbortSignal): Promise<EventID | undefined> {
    const archive = new LiveArchive(connect({ url: "https://live.example.com", token: "T", asksForEventIDs: true }), { patience: 5_000 })
    let oldest: EventID | undefined
    try {
        for await (const page of archive.pages({ entities: ["incident"], order: "newestFirst", limit: 50 }, { signal: abort })) {
            for (const { from, to } of page.gaps) console.log(from, to ?? "now", page.at)
            oldest = page.events.at(-1)?.aid
        }
        const { things, unreadThings }: InboxPage = await archive.inbox({ isUnreadOnly: true })
        for (const { thing, last, unread } of things) if (unread > 0) await markRead(kept, { thing, upTo: last.aid }, { from: oldest })
        if (unreadThings > 0 && oldest) await archive.markRead({ upTo: oldest })
    } catch (error) {
        if (error instanceof ArchiveError && error.kind === "unavailable") console.log(error.retryAfter, error.requestError.status)
    }
    const source = new ArchivePageSource(archive, { thing: { entity: "incident", id: "I1" } })
    new Screens<ArchivedEvent>({ api: { reload: async () => ({ gone: {} }), page: options => source.page(options) } })
        .list({ name: "past", entity: "past", key: ({ aid }) => eventKey(aid) })
    const mark = readMarkOf({ id: "[]", value: oldest ?? "" })
    if (mark && isEventID(oldest)) console.log(readKind, markCovers(mark, oldest, { entity: "incident", id: "I1" }))
    await openActions({
        store: { load: async () => [], commit: async () => {} }, renewToken: async () => {},
        send: (sent, signal) => archive.sendReadMarks(sent, signal),
    })
    return oldest
}
