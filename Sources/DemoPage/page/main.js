// The page: a list and a details view that change by themselves, and what people do about it.

import { API } from "./api.js"
import { Board } from "./board.js"
import { Link } from "./link.js"
import { Outbox } from "./outbox.js"
import { Views } from "./views.js"

/** Incidents of a page of the list. */
const PAGE = 25
/** A gap shorter than this shows nothing, in milliseconds. */
const PATIENCE = 300
/** So long without a connection, and the sign says that there is none. */
const GIVEN_UP = 20_000

/** By status: why the server did not do what somebody wanted. */
const refusals = { 404: "the incident is gone", 409: "somebody has resolved it" }

const at = id => document.getElementById(id)
const api = new API()
const board = new Board()
const views = new Views()
let shown = null
let problem = null
let outbox
let link

function draw() {
    views.list(board, outbox, shown)
    const incident = shown && board.get(shown)
    views.details(shown, incident, shown && outbox.pending(shown), board.isOld, problem)
}

// The sign

let signTimer = null

function sign() {
    clearTimeout(signTimer)
    if (document.hidden) return
    const { is, since } = link.state
    if (is === "connected") return views.sign("connected", "")
    const gone = Date.now() - since
    if (gone < PATIENCE) {
        signTimer = setTimeout(sign, PATIENCE - gone)
    } else if (gone < GIVEN_UP && navigator.onLine) {
        views.sign("connecting", "waiting")
        signTimer = setTimeout(sign, GIVEN_UP - gone)
    } else {
        views.sign(navigator.onLine ? "cannot connect" : "offline", "lost")
    }
}

// What comes

async function register() {
    board.isOld = board.completeTo !== null
    draw()
    board.reset(await api.list(null, PAGE), shown)
    if (shown) await reload(shown)
    draw()
}

async function reload(id) {
    const [isShown, askedAt] = [id === shown, Date.now()]
    try {
        const incident = await api.details(id)
        board.put(incident)
        outbox.reloaded(id, incident.status, askedAt)
        if (isShown && id === shown) problem = null
    } catch (error) {
        // A thing that is gone, or not ours, is an answer.
        if (![403, 404, 410].includes(error.status)) throw error
        board.remove(id)
        if (id === shown) problem = "This incident is gone."
    }
}

/** What is shown decides what is fetched: each incident once, however often the events name it. */
async function apply(events) {
    const wanted = new Set()
    for (const { entity, id, type } of events) {
        if (entity !== "incident") continue
        if (type === "deleted") {
            if (id === shown) wanted.add(id)
            else board.remove(id)
        } else if (type === "created" ? !board.get(id) : id === shown || board.lists(id)) {
            wanted.add(id)
        }
    }
    await Promise.all([...wanted].map(reload))
    draw()
}

// What people do

function give(status) {
    const incident = shown && board.get(shown)
    if (!incident) return
    views.tell("")
    outbox.set(shown, status, incident.status)
}

async function addNote(event) {
    event.preventDefault()
    const [id, text] = [shown, at("note").value.trim()]
    if (!text) return
    const button = event.target.querySelector("button")
    button.disabled = true
    try {
        // Others would read it twice: it needs the server now, and is not kept.
        board.put(await api.act(id, "notes", crypto.randomUUID(), { content: text }))
        at("note").value = ""
        views.tell("The note was added.")
    } catch (error) {
        views.tell(`The note was not added: ${error.message}. Your text is still there.`)
    }
    button.disabled = false
    draw()
}

async function showMore() {
    try {
        board.append(await api.list(board.last, PAGE))
    } catch (error) {
        views.tell(`Older ones cannot be shown: ${error.message}.`)
    }
    draw()
}

async function show() {
    const id = decodeURIComponent(location.hash.slice(1)) || null
    const before = shown
    shown = id === "list" ? null : id
    problem = null
    draw()
    if (shown !== before) (shown ? at("details") : at("list")).focus()
    if (!shown) return
    try {
        await reload(shown)
    } catch (error) {
        if (!board.get(shown)) problem = `It cannot be shown: ${error.message}.`
    }
    draw()
}

async function start() {
    outbox = new Outbox({
        account: "demo", storage: localStorage, send: (id, verb, key) => api.act(id, verb, key), changed: draw,
        done: incident => board.put(incident),
        rejected: (id, status) => {
            views.tell(`Your change of ${id} is undone: ${refusals[status] ?? "it was refused"}.`)
        },
        unauthorized: () => views.tell("Your changes wait: the server does not let you in."),
    })
    link = new Link({ enter: again => api.enter(again), register, apply, changed: sign })
    at("acknowledge").addEventListener("click", () => give("acknowledged"))
    at("resolve").addEventListener("click", () => give("resolved"))
    at("note-form").addEventListener("submit", addNote)
    at("more").addEventListener("click", showMore)
    addEventListener("hashchange", show)
    const back = () => { link.tryNow(); outbox.network(true); sign() }
    addEventListener("online", back)
    addEventListener("pageshow", back)
    addEventListener("offline", () => { outbox.network(false); sign() })
    document.addEventListener("visibilitychange", () => document.hidden || back())
    sign()
    outbox.start()
    show()
    await link.run()
}

start()
