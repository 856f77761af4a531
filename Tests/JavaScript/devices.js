// Two devices of one person on a gateway with an archive: each line that comes in asks for something, and one line says what came of it.
//
//   Tests/JavaScript/devices.js URL TOKEN
//
// A line is JSON, [name, …]: a name of `commands`, and what it is given. An answer is {"value": …} or {"error": kind}.

import { createInterface } from "node:readline"
import { ArchivePageSource, LiveArchive, markRead } from "../../Sources/LiveClientJS/archive.js"
import { MemoryActionStore, Screens, connect, openActions } from "../../Sources/LiveClientJS/livegate.js"

const [url, token] = process.argv.slice(2)

/** A device whose list of the past is loaded by the page, and grows by what comes live. */
class Device {
    updates = []
    #lives = []

    async open() {
        this.client = connect({ url, token, asksForEventIDs: true })
        this.archive = new LiveArchive(this.client)
        const source = new ArchivePageSource(this.archive)
        this.screens = new Screens({
            environment: this.client.environment, settings: { lists: { pageLimit: 5 } },
            api: { reload: (thing, options) => source.reload(thing, options), page: options => source.page(options) },
        })
        this.list = this.screens.list({
            name: "past", entity: "past", key: ({ aid }) => ({ rank: 0, text: aid }), listener: state => { this.state = state },
        })
        this.client.subscribe(update => {
            this.updates.push(update)
            if (update.resync) {
                source.forget()
                this.screens.setFinger(false)
            }
            if (update.live) {
                this.screens.setFinger(true)
                this.screens.setLive(true)
                for (const live of this.#lives.splice(0)) live()
            }
            if (!update.event) return
            source.keep(update.event)
            const thing = { entity: "past", id: update.event.aid }
            this.screens.reload({ number: this.updates.length, thing, types: ["created"] })
        })
        const store = new MemoryActionStore({ show: () => {} })
        const send = (actions, signal) => this.archive.sendReadMarks(actions, signal)
        this.actions = await openActions({ store, send, renewToken: async () => {}, settings: { coalescing: 0 } })
        await new Promise(live => this.#lives.push(live))
    }
}

const devices = [new Device(), new Device()]
const collected = async pages => {
    const found = []
    for await (const page of pages) found.push(page)
    return found
}

const commands = {
    page: request => devices[0].archive.page(request),
    pages: request => collected(devices[0].archive.pages(request)),
    inbox: (index, request) => devices[index].archive.inbox(request),
    inboxPages: request => collected(devices[0].archive.inboxPages(request)),
    mark: mark => devices[0].archive.markRead(mark),
    /** A mark that is made without a network, and sent when it is back. */
    async markLater(mark) {
        const { actions } = devices[0]
        actions.networkChanged(false)
        await markRead(actions, mark)
        const pending = actions.pending.length
        const sent = new Promise(done => { actions.watchPending(rows => { if (rows.length === 0) done() }) })
        actions.networkChanged(true)
        await sent
        return pending
    },
    updates: index => devices[index].updates,
    show: count => devices[1].list.show({ from: { end: {} }, direction: "backward", count }),
    list: () => devices[1].state,
}

for (const device of devices) await device.open()
console.log("open")
for await (const line of createInterface({ input: process.stdin })) {
    const [name, ...given] = JSON.parse(line)
    let answer
    try {
        answer = { value: await commands[name](...given) ?? null }
    } catch (error) {
        answer = { error: error.kind ?? `${error}` }
    }
    console.log(JSON.stringify(answer))
}
process.exit()
