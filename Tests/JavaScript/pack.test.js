// pack.js
import assert from "node:assert/strict"
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import { pathToFileURL } from "node:url"
import { pack } from "../../Sources/LiveClientJS/pack.js"
import { runScenarios } from "./scenarios.js"

const folder = mkdtempSync(join(tmpdir(), "livegate-pack-"))
after(() => rmSync(folder, { recursive: true }))
const sizes = pack(folder)
const packed = entry => import(pathToFileURL(join(folder, entry)))
const { ConnectionMachine, UpdateMachine } = await packed("livegate.js")

for (const [entry, size] of Object.entries(sizes)) {
    test(`${entry} is packed whole, and only the whole is over 20 KB`, async () => {
        const source = await import(new URL(`../../Sources/LiveClientJS/${entry}`, import.meta.url))
        assert.deepEqual(Object.keys(await packed(entry)).sort(), Object.keys(source).sort())
        assert.ok(size > 1_000 && (entry === "livegate.js" || size <= 20_480), `${size} bytes`)
    })
}

test("what two entries need is the same in both", async () => {
    const [machine, screens] = [await packed("machine.js"), await packed("screens.js")]
    assert.equal(machine.RequestError, screens.RequestError)
})

test("whatever package.json names is there", () => {
    const { exports } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))
    const files = Object.values(exports).flatMap(entry => Object.values(entry))
    assert.equal(files.length, 10)
    for (const file of files) assert.ok(existsSync(join(folder, file)), file)
})

test("a folder that holds something is left alone", () => {
    const other = mkdtempSync(join(tmpdir(), "livegate-pack-"))
    try {
        writeFileSync(join(other, "mine"), "")
        assert.throws(() => pack(other), /is not empty/)
    } finally {
        rmSync(other, { recursive: true })
    }
})

runScenarios("connection", ConnectionMachine)
runScenarios("update", UpdateMachine)
