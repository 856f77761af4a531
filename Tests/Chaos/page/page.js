// One app in a page: what it knows and does outlives it, in the browser's stores.

import { IndexedDBActionStore, openStore } from "../../../Sources/LiveClientJS/livegate.js"
import { App, patient } from "./app.js"

const { name, account, live } = Object.fromEntries(new URLSearchParams(location.search))

const memory = {
    async open() {
        const store = await patient(() => openStore({ name: `chaos ${name}`, account, server: live }))
        return { machine: store, actions: new IndexedDBActionStore({ store, show: () => {} }), close: () => store.close() }
    },
}

/** The window, on a machine whose only network is itself: browsers take that for none. */
const here = Object.fromEntries(["addEventListener", "removeEventListener"].map(word => [
    word, (event, listener) => { if (!["online", "offline"].includes(event)) window[word](event, listener) },
]))
const environment = { page: { ...here, document, navigator: { onLine: true } } }

const log = JSON.parse(localStorage.getItem(name) ?? "{}")
const keep = ({ opened, taken, told, marks }) => localStorage.setItem(name, JSON.stringify({ opened, taken, told, marks }))
const app = new App({ name, account, live, api: location.origin, memory, log, keep, environment })
app.run().catch(error => { window.failure = String(error.stack ?? error) })
window.app = app
