// The JavaScript code of articles, run as it stands there.
import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import * as archive from "../../Sources/LiveClientJS/archive.js"
import * as core from "../../Sources/LiveClientJS/core.js"
import * as counting from "../../Sources/LiveClientJS/counting.js"
import * as module from "../../Sources/LiveClientJS/livegate.js"

const entries = { "livegate": module, "livegate/archive": archive, "livegate/core": core, "livegate/counting": counting }

export const articles = new URL("../../Sources/LiveClient/LiveClient.docc/", import.meta.url)

/** The JavaScript blocks of an article. */
export function blocksOf(name) {
    const text = readFileSync(new URL(name, articles), "utf8")
    return [...text.matchAll(/^```js\n(.*?)^```$/gms)].map(([, code]) => code)
}

const AsyncFunction = (async () => {}).constructor

/**
 * Runs a block with what is around it in an app: `around` by name, `livegate` for what it imports. Gives what the block
 * declares under these names.
 */
export function run(code, around, { livegate = module, gives = [] } = {}) {
    const body = code.replace(/^import (\{.*?\}) from "(livegate.*?)"$/gm, (_, names, entry) => {
        for (const name of names.match(/\w+/g)) assert.ok(name in entries[entry], `${entry} has no ${name}`)
        return entry === "livegate" ? `const ${names} = livegate` : `const ${names} = entries[${JSON.stringify(entry)}]`
    })
    assert.ok(!body.includes("import "))
    const names = Object.keys(around)
    const block = new AsyncFunction("livegate", "entries", ...names, `${body}\nreturn { ${gives.join(", ")} }`)
    return block(livegate, entries, ...names.map(name => around[name]))
}
