// Tabs of one browser that share a connection, on the clock and the network of a World.
import { allTabs } from "../../Sources/LiveClientJS/tabs.js"
import { SharedBrowser } from "./sharedbrowser.js"
import { World, settle } from "./world.js"

/** One browser, whose tabs share a connection. */
export class Browser {
    world = new World()
    #shared = new SharedBrowser(this.world.environment())

    tab(options = {}, others = {}) {
        const tab = this.#shared.tab()
        const changes = { page: null, ...tab.environment, ...others }
        return Object.assign(tab, this.world.client({ share: allTabs, account: "PACC1", ...options }, changes))
    }
}

/** A tab that leads, connected and live, and one that follows it. */
export async function two() {
    const browser = new Browser(), { world } = browser
    const leader = browser.tab()
    await settle()
    world.socket.open()
    world.socket.say({ live: { at: "C0" } })
    const follower = browser.tab()
    await settle()
    return { browser, world, leader, follower }
}
