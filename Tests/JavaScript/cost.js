#!/usr/bin/env node
// What the JavaScript module costs: the sizes of its parts, clients that only listen, and how long a change takes to be shown.
//
//   Tests/JavaScript/cost.js LIVEGATE [--clients 100] [--seconds 30] [--events 200]
//
// LIVEGATE is the program, whose `demo` is the server. It shares the machine with the clients: compare figures of one run.

import { spawn, spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { parseArgs } from "node:util"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { brotliCompressSync, gzipSync } from "node:zlib"
import { connect, createMachine, keyOf } from "../../Sources/LiveClientJS/livegate.js"
import { pack, sizes } from "../../Sources/LiveClientJS/pack.js"

const { values: options, positionals: [program] } = parseArgs({
    allowPositionals: true,
    options: {
        clients: { type: "string", default: "100" }, seconds: { type: "string", default: "30" },
        events: { type: "string", default: "200" },
    },
})
if (!program) {
    console.error("cost.js: which program? Tests/JavaScript/cost.js .build-release/release/livegate")
    process.exit(64)
}
const [clients, seconds, events] = [options.clients, options.seconds, options.events].map(Number)
const later = milliseconds => new Promise(resolve => setTimeout(resolve, milliseconds))
setFlagsFromString("--expose-gc")
const collect = runInNewContext("gc")
const kilobytes = bytes => (bytes / 1024).toFixed(1)

/** What apps load: each entry with all that it imports, then all of them in one file, before and after compression. */
function tellSizes() {
    const folder = mkdtempSync(join(tmpdir(), "livegate-cost-"))
    try {
        pack(join(folder, "parts"))
        const whole = join(folder, "whole.js")
        const source = new URL("../../Sources/LiveClientJS/livegate.js", import.meta.url).pathname
        spawnSync("esbuild", [source, "--bundle", "--format=esm", "--minify", "--target=es2022", `--outfile=${whole}`])
        const files = readdirSync(join(folder, "parts")).filter(name => name.endsWith(".js"))
        const plain = files.reduce((sum, name) => sum + readFileSync(join(folder, "parts", name)).length, 0)
        for (const [entry, size] of Object.entries(sizes(join(folder, "parts")))) {
            console.log(`${entry.padEnd(16)} ${kilobytes(size)} KB with gzip`)
        }
        const bytes = readFileSync(whole)
        console.log(`all parts        ${kilobytes(plain)} KB minified`)
        console.log(`in one file      ${kilobytes(bytes.length)} KB minified, ${kilobytes(gzipSync(bytes, { level: 9 }).length)} KB with gzip, `
            + `${kilobytes(brotliCompressSync(bytes).length)} KB with brotli`)
    } finally {
        rmSync(folder, { recursive: true })
    }
}

/** The demo, with its addresses and a token. */
async function openDemo() {
    const process = spawn(program, ["demo"], { stdio: ["ignore", "pipe", "inherit"] })
    const found = {}
    for await (const line of createInterface({ input: process.stdout })) {
        const [name, value] = line.split(/\s+/)
        found[name] = value
        if (name === "token") return { process, ...found, live: new URL(found.address).origin }
    }
    throw new Error(`${program} demo ended`)
}

async function ask({ api, token }, path = "", settings = {}) {
    const headers = { ...settings.headers, Authorization: `Bearer ${token}` }
    const answer = await fetch(api + path, { ...settings, headers })
    if (!answer.ok) throw new Error(`${path}: status ${answer.status}`)
    return answer.json()
}

/** A client with a machine of all incidents; or of what never changes. Fulfilled when it is live. */
async function open(demo, settings) {
    const client = connect({ url: demo.live, token: demo.token })
    const machine = createMachine(client, { area: "cost", snapshot: async () => [], ...settings })
    await new Promise(resolve => {
        const end = machine.watch(() => { if (machine.state.live) queueMicrotask(() => { end(); resolve() }) })
        if (machine.state.live) resolve()
    })
    return { client, machine, close() { machine.close(); client.close() } }
}

async function memory() {
    for (let round = 0; round < 5; round += 1) {
        collect()
        await later(100)
    }
    const { heapUsed, external, rss } = process.memoryUsage()
    return { heap: heapUsed + external, rss }
}

async function measureIdle(demo) {
    // What a first client loads is not the cost of each.
    const first = await open(demo, { entities: ["nothing"] })
    const before = await memory()
    const opened = await Promise.all(Array.from({ length: clients }, () => open(demo, { entities: ["nothing"] })))
    const after = await memory()
    const begin = process.cpuUsage()
    await later(seconds * 1_000)
    const { user, system } = process.cpuUsage(begin)
    const each = name => kilobytes((after[name] - before[name]) / clients)
    console.log(`${clients} idle clients by ${first.client.way}, each with a machine`)
    console.log(`memory of each   ${each("heap")} KB of heap and buffers, ${each("rss")} KB of the process`)
    console.log(`CPU of each      ${((user + system) / 1_000 / clients / seconds).toFixed(3)} ms a second, over ${seconds} s`)
    for (const one of [first, ...opened]) one.close()
}

async function measureLatency(demo) {
    const found = []
    let told = () => {}
    const { incidents } = await ask(demo)
    const reload = ({ id }) => ask(demo, `/${encodeURIComponent(id)}`)
    const one = await open(demo, {
        entities: ["incident"], reload, snapshot: async () => incidents.map(value => [keyOf({ entity: "incident", id: value.id }), value]),
        shown(times) {
            found.push(...times.map(({ ts }) => Date.now() - ts))
            told()
        },
    })
    for (let number = 0; found.length < events; number += 1) {
        const shown = new Promise(resolve => { told = resolve })
        const body = JSON.stringify({ content: `note ${number}` })
        const headers = { "Idempotency-Key": `cost-${process.pid}-${number}`, "Content-Type": "application/json" }
        await ask(demo, `/${encodeURIComponent(incidents[number % incidents.length].id)}/notes`, { method: "POST", headers, body })
        await shown
    }
    one.close()
    const sorted = found.slice(0, events).sort((a, b) => a - b)
    const at = share => sorted[Math.min(events - 1, Math.ceil(events * share) - 1)]
    console.log(`from ts to screen, with a fetch from the API: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, of ${events} events`)
}

tellSizes()
const demo = await openDemo()
try {
    await measureIdle(demo)
    await measureLatency(demo)
} finally {
    demo.process.kill()
}
process.exit(0)
