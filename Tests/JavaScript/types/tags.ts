// An app that tells states, updates and errors apart, for each resolution of modules, with and without the browser's own types:
// it is only compiled, as a package's user (types.test.js).
import {
    ActionError, ActionNews, ConnectionState, ErrorKind, Freshness, LivegateError, LiveUpdate, MachineState, RequestError, ScreenFailure,
    StoreError, connect, createMachine, entryOf,
} from "livegate"
import { ArchiveError } from "livegate/archive"
import { useConnectionState } from "livegate/react"

/** A case that was forgotten does not compile. */
function none(value: never): never { throw value }

export function said(state: ConnectionState): string {
    const [name, facts] = entryOf(state)
    switch (name) {
    case "idle": case "connected": case "unauthorized": return name
    case "connecting": return `${facts.attempt} since ${facts.since}`
    case "waiting": return `${facts.why} ${facts.until?.toFixed()}`
    case "ended": return facts.error.refused ? `${facts.error.refused.status}` : entryOf(facts.error)[0]
    default: return none(name)
    }
}

export function taken(update: LiveUpdate): string | undefined {
    const [name, facts] = entryOf(update)
    switch (name) {
    case "event": return facts.entity + facts.id
    case "resync": return facts.why + facts.at
    case "live": case "beat": return facts.at
    case "source": return facts.state
    case "read": return facts.upTo
    case "connected": return facts.way
    case "disconnected": return undefined
    default: return none(name)
    }
}

export function machineSaid(state: MachineState): number | undefined {
    const [name, facts] = entryOf(state)
    switch (name) {
    case "notLoaded": case "stale": case "registering": case "live": return undefined
    case "registerFailed": case "pollFailed": return facts.cause.request?.failure.rejected?.status ?? facts.retryAt
    case "idle": return facts.nextPoll
    default: return none(name)
    }
}

// Without a function, by the members.
export const shown = ({ event, resync }: LiveUpdate): string | undefined => event ? event.id : resync?.at
export const until = (state: ConnectionState): number | undefined => state.waiting ? state.waiting.until : state.connecting?.since
export const since = (sign: Freshness): number | undefined => sign.cannotConnect ? sign.cannotConnect.since : sign.refused?.status
export const after = (failure: ScreenFailure): number | undefined => failure.retry ? failure.retry.after : failure.rejected?.status
export const undone = ({ rejected, expired }: ActionNews): string | undefined => rejected ? rejected.action.id : expired?.action.id

export function todo(error: unknown): ErrorKind | undefined {
    if (!(error instanceof LivegateError)) return undefined
    switch (error.kind) {
    case "unauthorized": case "closed": return error.kind
    case "retry": return error.retryAfter ? error.kind : undefined
    }
    return error.requestError.kind
}
export const olderNames: (typeof LivegateError)[] = [StoreError, ActionError, ArchiveError]

const client = connect({ url: "https://live.example.com", token: "T" })
client.subscribe(({ event }) => event?.type)
export const machine = createMachine<{ id: string }>(client, {
    area: "incidents",
    snapshot: async ({ signal }) => { if (signal.aborted) throw new RequestError(503, 1_000); return [] },
})
export const drawn = (): string => said(useConnectionState(client))
