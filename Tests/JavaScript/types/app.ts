// A small app, as an app's developer writes it: it is only compiled (types.test.js).
import { LivegateError, MemoryStore, RequestError, connect, createMachine, keyOf } from "../../../Sources/LiveClientJS/livegate.js"
import type { ConnectionState, Freshness, LiveUpdate, Thing } from "../../../Sources/LiveClientJS/livegate.js"

interface Incident { id: string, title: string }

const client = connect({ url: "https://live.example.com", token: async ({ fresh }) => fresh ? "another" : "one" })

function sign(state: ConnectionState): string {
    if ("waiting" in state) return `waiting for ${state.waiting.why} until ${state.waiting.until ?? "it is back"}`
    return "connected" in state ? "live" : Object.keys(state)[0]
}
const unwatch: () => void = client.watch(state => console.log(sign(state)))

const machine = createMachine<Incident>(client, {
    area: "incidents",
    entities: ["incident"],
    store: new MemoryStore(),
    async snapshot({ signal }) {
        const answer = RequestError.check(await fetch("/api/incidents", { signal }))
        const incidents: Incident[] = await answer.json()
        return incidents.map((incident): [string, Incident] => [keyOf({ entity: "incident", id: incident.id }), incident])
    },
    async reload(thing: Thing, { signal }) {
        return RequestError.check(await fetch(`/api/incidents/${thing.id}`, { signal })).json()
    },
})
machine.watch(() => {
    const freshness: Freshness | undefined = machine.sign
    for (const incident of machine.entries.values()) console.log(incident.title, freshness)
})

export async function read(): Promise<void> {
    try {
        for await (const update of client.updates()) {
            const last: LiveUpdate = update
            if ("event" in last) console.log(last.event.entity, last.event.id, last.event.type)
        }
    } catch (error) {
        if (error instanceof LivegateError && error.kind === "revoked") unwatch()
    }
}
