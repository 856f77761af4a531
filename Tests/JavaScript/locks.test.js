// shell/tabs.js, shell/actiontabs.js: a tab that is closed or frozen holds no lock and waits for none.
import assert from "node:assert/strict"
import { test } from "node:test"
import { MemoryActionStore, openActions } from "../../Sources/LiveClientJS/livegate.js"
import { Browser } from "./sharedtabs.js"
import { SharedBrowser } from "./sharedbrowser.js"
import { World, settle } from "./world.js"

/** Two tabs of a connection, each with a page of its own; the first leads. */
async function connections() {
    const browser = new Browser(), { world } = browser
    const open = async () => {
        const { page } = new World()
        const tab = browser.tab({}, { page })
        await settle()
        return { tab, page, close: () => tab.client.close() }
    }
    const tabs = [await open(), await open()]
    return { tabs, world }
}

/** Two tabs that share actions, each with a page of its own; the first sends. */
async function actions() {
    const world = new World(), browser = new SharedBrowser(world.environment()), shelf = new Map()
    const open = async () => {
        const { page } = new World(), tab = browser.tab()
        const opened = await openActions({
            store: new MemoryActionStore({ show: () => {}, shelf, sharedName: "store" }),
            environment: { ...tab.environment, page }, send: async () => [], renewToken: async () => {},
        })
        await settle()
        return { tab, page, close: () => opened.close() }
    }
    return { tabs: [await open(), await open()], world }
}

for (const [name, make] of Object.entries({ connections, actions })) {
    for (const [what, end] of [
        ["closed", ({ close }) => close()],
        ["left", ({ page }) => page.fire(page, "pagehide")],
        ["frozen", ({ page }) => page.fire(page.document, "freeze")],
    ]) {
        test(`${name}: a tab that is ${what} gives its lock away, and its wish for one`, async () => {
            const { tabs: [first, second] } = await make()
            assert.deepEqual([first, second].map(({ tab }) => tab.wishes.size), [1, 1])
            end(second)
            await settle()
            assert.deepEqual([first, second].map(({ tab }) => tab.wishes.size), [1, 0])
            end(first)
            await settle()
            assert.equal(first.tab.wishes.size, 0)
        })
    }
}

test("a tab whose connection has ended for good gives the lock away when it is closed, left or frozen at once", async () => {
    for (const end of [
        ({ close }) => close(), ({ page }) => page.fire(page, "pagehide"), ({ page }) => page.fire(page.document, "freeze"),
    ]) {
        const { tabs: [first], world } = await connections()
        world.socket.open()
        world.socket.end(4403)
        await settle()
        assert.equal(first.tab.wishes.size, 1, "the others are told first")
        end(first)
        await settle()
        assert.equal(first.tab.wishes.size, 0)
    }
})
