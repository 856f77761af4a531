// The stream over a WebSocket, in browsers and wherever there is one.

import { readMessage } from "../core/messages.js"
import { askSync, askWhetherStreams, buyTicket, streamParameters } from "./requests.js"

/** The subprotocol that shows a token: browsers set no header on a WebSocket. */
export function bearerProtocol(token) {
    const bytes = new TextEncoder().encode(token)
    const text = btoa(String.fromCharCode(...bytes))
    return "bearer." + text.replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "")
}

/** `retry_ms=N` at the end of a close's reason. */
function readReason(reason) {
    const found = /retry_ms=(\d{1,9})$/.exec(reason ?? "")
    return found ? Number(found[1]) : undefined
}

/**
 * Opens a stream. `settings`: token (null: a cookie), since, entities, _usesTicket.
 * `on` is called with {opened}, {message}, {alive} and at last one of {refused}, {closed: {code, retry}}, {lost: {how}}.
 */
export function openWebSocket(environment, addresses, settings, on) {
    const abort = new AbortController(), signal = abort.signal
    let socket = null
    const report = event => { if (!signal.aborted) on(event) }
    const finish = event => {
        report(event)
        abort.abort()
    }

    /** One attempt; what it ended with, or null where it had opened and reports by itself. */
    const attempt = async () => {
        let ticket
        if (settings._usesTicket) {
            const bought = await buyTicket(environment, addresses, { token: settings.token, signal })
            if (!bought.ticket) return bought
            ticket = bought.ticket
        }
        if (signal.aborted) return null
        const protocols = ["livegate.v1"]
        if (settings.token !== null && !ticket) protocols.push(bearerProtocol(settings.token))
        const url = addresses.socket("/live/v1", { ...streamParameters(settings), ticket })
        return new Promise(resolve => {
            const current = socket = new environment.WebSocket(url, protocols)
            let isOpen = false
            current.onopen = () => {
                isOpen = true
                report({ opened: {} })
                resolve(null)
            }
            current.onmessage = ({ data }) => {
                if (signal.aborted) return
                report({ alive: {} })
                const message = typeof data === "string" ? readMessage(data) : null
                if (message) report({ message })
            }
            current.onclose = ({ code, reason }) => {
                if (!isOpen) return resolve({ lost: { how: "unknown" } })
                // A server that ends the stream sends a notice before it closes: 1000 alone is from a proxy.
                const isCut = code === 1006 || code === 1000
                finish(isCut ? { lost: { how: "cut" } } : { closed: { code, retry: readReason(reason) } })
            }
        })
    }

    /** A page does not see why an upgrade was refused: `/sync/v1` answers the same token with the refusal itself. */
    const explain = async () => {
        const answer = await askSync(environment, addresses, { token: settings.token, signal })
        return answer.page || answer.resync ? null : answer
    }

    const run = async () => {
        let ending = await attempt()
        if (ending?.lost?.how !== "unknown" || signal.aborted) return ending
        ending = await explain()
        if (ending || signal.aborted) return ending
        // The server answers, and accepts the token. It may have returned a moment ago, so one more attempt shows more.
        ending = await attempt()
        if (ending?.lost?.how !== "unknown" || signal.aborted) return ending
        // A node that is full, or about to stop, answers /sync/v1 and refuses streams: what it answers another kind of stream
        // also holds for this one.
        return await askWhetherStreams(environment, addresses, settings, signal) ?? { lost: { how: "blocked" } }
    }
    run().catch(() => ({ lost: { how: "unknown" } })).then(ending => { if (ending) finish(ending) })

    return {
        close: () => {
            abort.abort()
            if (socket && socket.readyState < 2) socket.close(1000)
        },
        send: text => { if (socket?.readyState === 1) socket.send(text) },
    }
}
