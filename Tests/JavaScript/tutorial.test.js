// JavaScriptTutorial.md in LiveClient.docc: its code, block after block, with a page, a server and stores that a test plays.
import assert from "node:assert/strict"
import { test } from "node:test"
import * as module from "../../Sources/LiveClientJS/livegate.js"
import { blocksOf, run } from "./articlecode.js"
import { Clock, ScriptedClient, Server } from "./server.js"

const code = blocksOf("JavaScriptTutorial.md").join("\n")

/** What the tutorial's page has. */
class Page {
    #elements = Object.fromEntries(["sign", "list", "refresh"].map(id => [`#${id}`, {
        textContent: "", rows: [], replaceChildren(...rows) { this.rows = rows },
        addEventListener(name, listener) { this[name] = listener },
    }]))
    querySelector(selector) { return this.#elements[selector] }
    createElement(name) { return { name, textContent: "" } }

    get rows() { return this.querySelector("#list").rows.map(({ name, textContent }) => `${name} ${textContent}`) }
    get sign() { return this.querySelector("#sign").textContent }
    refresh() { this.querySelector("#refresh").click() }
}

/** An app on the tutorial's code, and the stores of its browser. */
class App {
    clock = new Clock()
    server = new Server()
    shelves = new Map()
    page = new Page()
    asked = []
    discarded = []
    signedOut = []
    tokens = []
    /** Whether the browser has a store of an older version of the page, which is refused. */
    isOld = false
    status = 200

    async open(account = "PACC1") {
        this.page = new Page()
        const livegate = {
            ...module,
            openStore: async ({ name, account, ...identity }) => {
                assert.deepEqual([name, identity], ["incidents", { server: "https://live.example.com", schema: 1 }])
                if (this.isOld) throw new module.StoreError("other", "another schema's")
                if (!this.shelves.has(account)) this.shelves.set(account, new Map())
                const shelf = this.shelves.get(account)
                const store = new module.MemoryStore({ shelf, now: this.clock.now, writer: account })
                return Object.assign(store, { signOut: async how => { this.signedOut.push(how) } })
            },
            discardStore: async ({ name, account, server }) => {
                this.discarded.push([name, account, server])
                this.shelves.delete(account)
                this.isOld = false
            },
            connect: options => {
                const { url, entities, share, token } = options
                assert.deepEqual([url, options.account, entities], ["https://live.example.com", account, ["incident"]])
                assert.equal(share, module.allTabs)
                this.client = new ScriptedClient(this.server, this.clock)
                this.lose = state => ScriptedClient.prototype.close.call(this.client, state)
                return Object.assign(this.client, { token, close: () => { this.isClosed = true } })
            },
        }
        const accessToken = async ({ fresh }) => {
            this.tokens.push(fresh)
            return "T"
        }
        const around = {
            server: "https://live.example.com", account, accessToken, document: this.page,
            fetch: (path, options) => this.#answer(path, options),
        }
        Object.assign(this, await run(code, around, { livegate, gives: ["signedIn", "close", "signOut"] }))
        await this.clock.settle()
    }

    async #answer(path, { headers, cache }) {
        assert.deepEqual([headers, cache], [{ Authorization: "Bearer T" }, "no-store"])
        this.asked.push(path)
        if (this.status !== 200) return new Response("", { status: this.status })
        const things = [...this.server.things.values()].map(({ id, version }) => ({ id, title: `version ${version}` }))
        if (path === "/api/incidents") return Response.json({ incidents: things })
        const found = things.find(({ id }) => path === `/api/incidents/${id}`)
        return found ? Response.json(found) : new Response("", { status: 404 })
    }
}

async function live() {
    const app = new App()
    for (const id of ["B", "A"]) app.server.change(id, "created")
    await app.open()
    app.client.open()
    await app.clock.pass(1_000)
    return app
}

test("the list says that it is loading, and then it is there and changes by itself", async () => {
    const app = new App()
    app.server.change("A", "created")
    let answer
    app.server.point = () => new Promise(resolve => { answer = resolve })
    await app.open()
    await app.clock.pass(2_000)
    assert.deepEqual([app.page.rows, app.page.sign], [[], "Loading …"])
    app.server.point = async () => {}
    answer()
    app.client.open()
    await app.clock.pass(1_000)
    assert.deepEqual([app.page.rows, app.page.sign], [["li A version 1"], ""])
    app.server.change("A")
    app.server.change("C", "created")
    await app.clock.pass(1_000)
    assert.deepEqual(app.page.rows, ["li A version 2", "li C version 1"])
    app.server.change("A", "deleted")
    await app.clock.pass(1_000)
    assert.deepEqual(app.page.rows, ["li C version 1"])
    assert.deepEqual(app.asked, ["/api/incidents", "/api/incidents/A", "/api/incidents/C", "/api/incidents/A"])
})

test("what happened while the connection was away is told, and a sign stands as long", async () => {
    const app = await live()
    app.lose({ waiting: { until: app.clock.now() + 10_000, why: "retry" } })
    await app.clock.pass(400)
    assert.equal(app.page.sign, "Connecting …")
    app.server.change("A")
    app.client.open()
    await app.clock.pass(1_000)
    assert.deepEqual([app.page.rows, app.page.sign], [["li A version 2", "li B version 1"], ""])
})

test("the next visit shows what was stored before it has reached anybody, and goes on from there", async () => {
    const app = await live()
    app.close()
    assert.ok(app.isClosed)
    app.server.change("A")
    app.asked = []
    await app.open()
    assert.deepEqual([app.page.rows, app.asked], [["li A version 1", "li B version 1"], []])
    app.client.open()
    await app.clock.pass(1_000)
    assert.deepEqual([app.page.rows, app.asked], [["li A version 2", "li B version 1"], ["/api/incidents/A"]])
})

test("another account begins with nothing of the one before, and deletes nothing of it", async () => {
    const app = await live()
    await app.signOut({ keep: true })
    app.asked = []
    app.server.change("B", "deleted")
    await app.open("PACC2")
    await app.clock.pass(2_000)
    assert.deepEqual([app.discarded, app.asked, app.page.rows], [[], ["/api/incidents"], ["li A version 1"]])
    await app.signOut({ keep: false })
    assert.deepEqual(app.signedOut, [{ keep: true }, { keep: false }])
    app.asked = []
    await app.open()
    assert.deepEqual([app.asked, app.page.rows], [[], ["li A version 1", "li B version 1"]])
})

test("what an older version of the page has stored is not used", async () => {
    const app = await live()
    app.close()
    app.isOld = true
    app.asked = []
    await app.open()
    await app.clock.pass(2_000)
    assert.deepEqual([app.discarded, app.asked], [[["incidents", "PACC1", "https://live.example.com"]], ["/api/incidents"]])
})

test("a refusal asks people to sign in, and somebody who does goes on", async () => {
    const app = await live()
    app.status = 401
    app.page.refresh()
    await app.clock.pass(1_000)
    assert.equal(app.page.sign, "Sign in to see what is new.")
    assert.equal(app.tokens.filter(fresh => fresh).length, 1)
    app.status = 200
    app.server.change("A")
    app.signedIn()
    await app.clock.pass(1_000)
    assert.deepEqual([app.page.rows, app.page.sign], [["li A version 2", "li B version 1"], ""])
})
