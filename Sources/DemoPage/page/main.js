// The page: a list and a details view that change by themselves, and what people do about it.

import { Retry } from "../../LiveClientJS/core.js"
import { allTabs, connect, openStore } from "../../LiveClientJS/livegate.js"

import { API } from "./api.js"
import { Incidents, idOf } from "./incidents.js"
import { openOutbox } from "./outbox.js"
import { Sign } from "./sign.js"
import { Views } from "./views.js"

/** By status: why the server did not do what somebody wanted. */
const refusals = { 404: "the incident is gone", 409: "somebody has resolved it" }

const at = id => document.getElementById(id)
const api = new API()
const sign = new Sign()
const views = new Views()
/** Where the details take the place of the list: as page.css has it. */
const isNarrow = matchMedia("(max-width: 45.99rem)")
let shown = null
let outbox
let incidents
let signTimer
let isDrawing = false

// What is visible

/** Draws once, however much changes at the same time. */
function draw() {
    if (isDrawing) return
    isDrawing = true
    queueMicrotask(() => {
        isDrawing = false
        drawSign()
        if (!incidents) return
        views.list(incidents.list, outbox, shown)
        views.details(shown, incidents.details, shown && outbox.pending(shown))
        views.counts(incidents.counts, incidents.refreshes())
    })
}

function drawSign() {
    clearTimeout(signTimer)
    if (document.hidden) return
    const isListOld = !incidents || (!isListHidden() && incidents.list.isOld)
    const facts = {
        sign: incidents?.sign, isConnected: incidents?.isConnected ?? false, isListOld, isOnline: navigator.onLine,
    }
    const words = sign.words(facts, performance.now())
    if (words) views.sign(...words)
    if (sign.wakeAt !== null) signTimer = setTimeout(drawSign, Math.max(0, sign.wakeAt - performance.now()))
}

function isListHidden() { return shown !== null && isNarrow.matches }

function show() {
    const before = shown
    shown = idOf(location.hash)
    incidents.showList(!isListHidden())
    if (shown !== before) {
        incidents.showDetails(shown)
        views.forgetConfirmed()
    }
    draw()
    // A hidden element cannot have the focus, so the page is drawn first.
    if (shown !== before) queueMicrotask(() => at(shown ? "details" : "list").focus())
}

// What people do

async function give(status) {
    const id = shown
    const { incident } = incidents.details
    if (!incident) return
    views.tell("")
    try {
        await outbox.set(id, status, incident.status)
    } catch (error) {
        views.tell(`Your change of ${id} was not taken: ${error.message}.`)
    }
}

async function addNote(event) {
    event.preventDefault()
    const [id, text] = [shown, at("note").value.trim()]
    if (!text) return
    const button = event.target.querySelector("button")
    button.disabled = true
    try {
        await outbox.addNote(id, text)
        at("note").value = ""
        views.confirm("The note was added.")
    } catch (error) {
        views.tell(error.kind === "unknown"
            ? "No answer came, so the note may have been added. Send it again: it is added once."
            : `The note was not added: ${error.message}. Your text is still there.`)
    }
    button.disabled = false
}

// The beginning

/** Asks until there is an answer: nothing can be done before. */
async function session() {
    const retry = new Retry(crypto.getRandomValues(new Uint32Array(1))[0])
    for (;;) {
        try {
            return await api.enter()
        } catch (error) {
            const wait = error.retryAfter === undefined ? retry.wait() : retry.waitAfter(error.retryAfter)
            await new Promise(resolve => setTimeout(resolve, wait))
        }
    }
}

/** Store and outbox; where the browser keeps nothing, both for as long as the page lives. */
async function opened({ account, gateway }, options) {
    let store = null
    try {
        store = await openStore({ name: `livegate demo ${account} ${gateway}`, account, server: gateway })
        return [store, await openOutbox({ ...options, store })]
    } catch (error) {
        store?.close()
        views.tell(`What you do without a network is lost with this page: ${error.message}.`)
        return [null, await openOutbox({ ...options, store: null })]
    }
}

// What is counted outlives a reload of the tab, which is what people do who do not trust what they see.

const countsName = "livegate demo counts"

function keepCounts() {
    try { sessionStorage.setItem(countsName, JSON.stringify(incidents.refreshes())) } catch { }
}

function goOnCounting() {
    const [{ type } = {}] = performance.getEntriesByType("navigation")
    let counts = []
    try { counts = JSON.parse(sessionStorage.getItem(countsName)) ?? [] } catch { }
    incidents.goOn(counts, type === "reload")
    addEventListener("pagehide", keepCounts)
}

async function start() {
    draw()
    const { account, gateway } = await session()
    const [store, made] = await opened({ account, gateway }, {
        api, changed: draw, renewToken: () => api.enter(true), done: incident => incidents?.answered(incident),
        rejected: (id, status) => {
            views.tell(`Your change of ${id} is undone: ${refusals[status] ?? "it was refused"}.`)
        },
        unauthorized: () => views.tell("Your changes wait: the server does not let you in."),
    })
    outbox = made
    const client = connect({
        url: gateway, entities: ["incident"], account, share: allTabs,
        token: async ({ fresh }) => (await api.enter(fresh)).token,
    })
    incidents = new Incidents({
        api, client, store, changed: draw, now: () => outbox.now(),
        read: (incident, askedAt) => outbox.read(incident, askedAt),
    })
    goOnCounting()
    at("acknowledge").addEventListener("click", () => give("acknowledged"))
    at("resolve").addEventListener("click", () => give("resolved"))
    at("note-form").addEventListener("submit", addNote)
    at("more").addEventListener("click", () => incidents.showMore())
    addEventListener("hashchange", show)
    isNarrow.addEventListener("change", show)
    const networkChanged = () => {
        outbox.networkChanged(navigator.onLine)
        draw()
    }
    addEventListener("online", networkChanged)
    addEventListener("offline", networkChanged)
    document.addEventListener("visibilitychange", () => {
        if (document.hidden) outbox.flush()
        draw()
    })
    networkChanged()
    show()
}

start()
