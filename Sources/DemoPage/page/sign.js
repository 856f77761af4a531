// The text that people see about the connection. No DOM, no clock.

/** A gap shorter than this shows nothing, in ms. */
const patience = 300

const words = {
    connected: ["connected", ""],
    connecting: ["connecting", "waiting"],
    cannotConnect: ["cannot connect", "lost"],
    refused: ["refused", "lost"],
    sourceStalled: ["the source of events is silent", "waiting"],
}

/** Decides which words are shown. What is on the screen has to be as the server has it: an open stream does not do. */
export class Sign {
    #since = null
    /** When other words are due though nothing happens, in the caller's ms; null: never. */
    wakeAt = null

    /**
     * `[text, class]`; null: what is shown stays.
     *
     * @param facts `{sign, isConnected, isListOld, isOnline}`; the first two as a machine of the module has them
     */
    words({ sign, isConnected, isListOld, isOnline }, now) {
        this.wakeAt = null
        if (sign) {
            this.#since ??= now
            return isOnline ? words[Object.keys(sign)[0]] : ["offline", "lost"]
        }
        if (isConnected && !isListOld) {
            this.#since = null
            return words.connected
        }
        this.#since ??= now
        if (now >= this.#since + patience) return words.connecting
        this.wakeAt = this.#since + patience
        return null
    }
}
