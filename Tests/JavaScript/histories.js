// Draws random histories of a machine, runs them in JavaScript and writes what it did as scenarios, for Swift to do the same
// (HistoryTests.swift): beyond the scenarios that somebody thought of, the two languages must not differ either.
//
//   node Tests/JavaScript/histories.js MACHINE COUNT SEED    a scenario on each line of standard output
//
// A machine is a file of the folder histories/ that exports
//   Machine             the class
//   settings(draw)      random settings
//   input(draw, seen)   the next input: `seen` is {machine, effects, step}, with all effects so far, newest last
// What it draws should also be late, doubled and out of order: an input that fits no more must change nothing.
import { pathToFileURL } from "node:url"
import { Jitter } from "../../Sources/LiveClientJS/core/retry.js"

/** Draws from a seed. */
export class Draw {
    #jitter

    constructor(seed) { this.#jitter = new Jitter(seed) }

    /** A whole number from `low` to `high`, both included. */
    int(low, high) { return this.#jitter.milliseconds(low, high + 1) }

    /** True once in `times`. */
    once(times) { return this.int(1, times) === 1 }

    one(list) { return list[this.int(0, list.length - 1)] }

    /** One of `[weight, value]`. */
    weighted(choices) {
        let left = this.int(1, choices.reduce((sum, [weight]) => sum + weight, 0))
        return choices.find(([weight]) => (left -= weight) <= 0)[1]
    }
}

function copied(value) { return JSON.parse(JSON.stringify(value)) }

/** The steps of a history: at each one what came in, what was to be done, all that was seen, and when it wants to be woken. */
export function drawHistory({ Machine, settings, input }, name, seed) {
    const draw = new Draw(seed)
    const chosen = settings(draw)
    const machine = new Machine(chosen)
    const effects = []
    const steps = []
    let now = draw.int(0, 5_000)
    for (let step = draw.int(10, 60); step > 0; step -= 1) {
        // Mostly soon after the last one; sometimes so late that it is woken before.
        now += draw.weighted([[3, 0], [10, draw.int(1, 50)], [6, draw.int(50, 2_000)], [3, draw.int(2_000, 40_000)]])
        const due = machine.wakeAt
        const isDue = due !== null && due < now
        if (isDue) now = Math.max(due, steps.at(-1)?.at ?? 0)
        const given = isDue || draw.once(30) ? { wake: {} } : input(draw, { machine, effects, step: steps.length })
        // As it stands in JSON at this moment: what a machine goes on to change says nothing of it.
        const out = copied(machine.handle(copied(given), now))
        effects.push(...out)
        const members = Object.entries(machine.view).map(([member, value]) => [member, value ?? null])
        steps.push({ at: now, in: given, out, view: copied(Object.fromEntries(members)), wake: machine.wakeAt })
    }
    return { about: `Drawn: histories.js ${name} 1 ${seed}`, settings: chosen, steps }
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
    const [name, count, seed] = process.argv.slice(2)
    const table = await import(`./histories/${name}.js`)
    const histories = Array.from({ length: Number(count) }, (_, index) => drawHistory(table, name, Number(seed) + index))
    process.stdout.write(histories.map(history => JSON.stringify(history) + "\n").join(""))
}
