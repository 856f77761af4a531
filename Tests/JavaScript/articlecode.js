// The JavaScript code of articles, run as it stands there.
import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import * as archive from "../../Sources/LiveClientJS/archive.js"
import * as core from "../../Sources/LiveClientJS/core.js"
import * as counting from "../../Sources/LiveClientJS/counting.js"
import * as module from "../../Sources/LiveClientJS/livegate.js"

const entries = { "livegate": module, "livegate/archive": archive, "livegate/core": core, "livegate/counting": counting }

export const articles = new URL("../../Sources/LiveClient/LiveClient.docc/", import.meta.url)

/** The JavaScript blocks of an article; of JSX as they are compiled. */
export function blocksOf(name) {
    const text = readFileSync(new URL(name, articles), "utf8")
    return [...text.matchAll(/^```(jsx?)\n(.*?)^```$/gms)].map(([, kind, code]) => kind === "jsx" ? compiled(code) : code)
}

function compiled(code) {
    const settings = ["--loader=jsx", "--jsx-factory=createElement", "--target=es2022"]
    const { status, stdout, stderr } = spawnSync("esbuild", settings, { input: code, encoding: "utf8" })
    assert.equal(status, 0, stderr)
    return stdout
}

const AsyncFunction = (async () => {}).constructor

/**
 * Runs a block with what is around it in an app: `around` by name, `livegate` and `others` by their names for what it imports.
 * Gives what the block declares under these names.
 */
export function run(code, around, { livegate = module, others = {}, gives = [] } = {}) {
    const modules = { ...entries, ...others }
    const body = code.replace(/^import (\{.*?\}|\w+) from "(.*?)";?$/gm, (_, names, entry) => {
        assert.ok(entry in modules, entry)
        if (!names.startsWith("{")) return `const ${names} = entries[${JSON.stringify(entry)}].default`
        for (const name of names.match(/\w+/g)) assert.ok(name in modules[entry], `${entry} has no ${name}`)
        return entry === "livegate" ? `const ${names} = livegate` : `const ${names} = entries[${JSON.stringify(entry)}]`
    })
    assert.ok(!body.includes("import "))
    const names = Object.keys(around)
    const block = new AsyncFunction("livegate", "entries", ...names, `${body}\nreturn { ${gives.join(", ")} }`)
    return block(livegate, modules, ...names.map(name => around[name]))
}
