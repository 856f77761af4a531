// Draws what is known. Every text is set as text: nothing that somebody wrote becomes markup.

const at = id => document.getElementById(id)
const words = { triggered: "triggered", acknowledged: "acknowledged", resolved: "resolved" }

function element(name, className, text) {
    const made = document.createElement(name)
    if (className) made.className = className
    if (text !== undefined) made.textContent = text
    return made
}

/** Sets a text only where it is another one: screen readers say what is set. */
function say(node, text) {
    if (node.textContent !== text) node.textContent = text
}

const time = milliseconds => new Date(milliseconds).toLocaleTimeString()

/** The status that people see: what they did counts before the server knows it. */
export function shownStatus(incident, pending) { return pending ?? incident.status }

export class Views {
    constructor() {
        /** By id: the row's element and the text by which it was drawn. */
        this.rows = new Map()
    }

    sign(text, className) {
        at("sign").className = className
        say(at("sign-text"), text)
    }

    /** Something that people should know, said politely. */
    tell(text, isDone = false) {
        at("told").className = isDone ? "done" : ""
        say(at("told"), text)
    }

    /** That something was done: of use until people look at something else. */
    confirm(text) { this.tell(text, true) }
    forgetConfirmed() { if (at("told").className === "done") this.tell("") }

    /** `list` as `Incidents` has it. */
    list({ incidents, isKnown, isOld, hasMore, isFailing }, outbox, shownID) {
        const list = at("rows")
        const there = new Set(incidents.map(incident => incident.id))
        for (const [id, row] of this.rows) {
            if (there.has(id)) continue
            row.node.remove()
            this.rows.delete(id)
        }
        incidents.forEach((incident, index) => {
            const node = this.row(incident, outbox.pending(incident.id), shownID)
            // Moved only where necessary: the node with the focus keeps it.
            if (list.children[index] !== node) list.insertBefore(node, list.children[index] ?? null)
        })
        list.classList.toggle("old", isOld)
        at("more").hidden = !hasMore
        const { count } = outbox
        say(at("list-note"), [
            isKnown ? `${incidents.length} incidents.` : "Nothing is known yet.",
            isKnown && isOld && "This may be old.",
            isFailing && "The list cannot be loaded now; it is tried again.",
            count > 0 && `${count} of your changes wait to be sent.`,
        ].filter(Boolean).join(" "))
    }

    /** What was fetched, and what was not because nobody would have seen it. */
    counts({ made, merged, avoided }, refreshes) {
        const sum = number => refreshes.reduce((all, count) => all + number(count), 0)
        const events = sum(({ latency, ahead }) => latency.reduce((all, bin) => all + bin, ahead))
        // The first three bins are those below 500 ms.
        const quick = sum(({ latency }) => latency.slice(0, 3).reduce((all, bin) => all + bin, 0))
        say(at("counts"), `Fetched one by one: ${made}. Changes that shared a fetch: ${merged}. `
            + `Changes that are not on the screen, and were not fetched: ${avoided}. `
            + `Refreshed by events: ${sum(count => count.automatic)}, by hand: ${sum(count => count.manual)}. `
            + `On the screen within half a second: ${quick} of ${events}.`)
    }

    row(incident, pending, shownID) {
        const status = shownStatus(incident, pending)
        const small = [incident.id, incident.urgency, incident.priority, incident.assignee, time(incident.updated_at),
            pending && "not sent yet"].filter(Boolean).join(" · ")
        const drawn = JSON.stringify([incident.title, status, small])
        const known = this.rows.get(incident.id)
        const node = known?.node ?? element("li")
        const isShown = incident.id === shownID
        if (known?.drawn !== drawn) {
            const link = node.firstChild ?? node.appendChild(element("a"))
            link.href = `#${encodeURIComponent(incident.id)}`
            link.replaceChildren(
                element("span", "title", incident.title), element("span", `status ${status}`, words[status]),
                element("span", "small", small))
            node.classList.remove("changed")
            if (known) requestAnimationFrame(() => node.classList.add("changed"))
            this.rows.set(incident.id, { node, drawn })
        }
        if (isShown) node.firstChild.setAttribute("aria-current", "true")
        else node.firstChild.removeAttribute("aria-current")
        return node
    }

    /** `details` as `Incidents` has them; `pending`: the status that waits to be sent. */
    details(id, { incident, isOld, isGone, failure }, pending) {
        document.body.classList.toggle("reading", id !== null)
        const view = at("details")
        view.hidden = id === null
        if (id === null) return
        view.classList.toggle("old", isOld)
        say(at("details-title"), incident?.title ?? id)
        const failed = failure && (incident ? "This may be old: it cannot be loaded now." : "It cannot be loaded now.")
        const waiting = pending && "Your change waits to be sent."
        say(at("details-note"), isGone ? "This incident is gone." : failed || waiting || "")
        for (const part of ["facts", "actions", "notes", "notes-title", "note-form"]) at(part).hidden = !incident
        if (!incident) return
        const status = shownStatus(incident, pending)
        this.facts([["Id", incident.id], ["Status", words[status], `status ${status}`], ["Urgency", incident.urgency],
            ["Priority", incident.priority], ["Assignee", incident.assignee], ["Level", incident.escalation_level],
            ["Changed", time(incident.updated_at)]].filter(([, value]) => value))
        at("acknowledge").disabled = status !== "triggered"
        at("resolve").disabled = status === "resolved"
        this.notes(incident.notes ?? [])
    }

    facts(pairs) {
        const drawn = JSON.stringify(pairs)
        if (this.drawnFacts === drawn) return
        this.drawnFacts = drawn
        const nodes = pairs.flatMap(([name, value, className]) => [element("dt", "", name), element("dd", className, value)])
        at("facts").replaceChildren(...nodes)
    }

    notes(notes) {
        const drawn = JSON.stringify(notes)
        if (this.drawnNotes === drawn) return
        this.drawnNotes = drawn
        at("notes").replaceChildren(...notes.map(note => {
            const item = element("li", "", note.content)
            item.append(element("span", "small", `${note.author} · ${time(note.created_at)}`))
            return item
        }))
    }
}
