// pack.js
import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import { fileURLToPath, pathToFileURL } from "node:url"
import { gzipSync } from "node:zlib"
import { ownMembers, pack } from "../../Sources/LiveClientJS/pack.js"
import "./fakereact.js"
import { runScenarios } from "./scenarios.js"

const folder = mkdtempSync(join(tmpdir(), "livegate-pack-"))
after(() => rmSync(folder, { recursive: true }))
const sizes = pack(folder)
const packed = entry => import(pathToFileURL(join(folder, entry)))
const machines = await packed("core.js")

for (const [entry, size] of Object.entries(sizes)) {
    test(`${entry} is packed whole, and only the first is over 21 KB`, async () => {
        const source = await import(new URL(`../../Sources/LiveClientJS/${entry}`, import.meta.url))
        assert.deepEqual(Object.keys(await packed(entry)).sort(), Object.keys(source).sort())
        assert.ok(size > 400 && (entry === "livegate.js" || size <= 21_504), `${size} bytes`)
    })
}

/** Names that are in an entry of their own. */
const entryOf = name => ({ RefreshCounts: "/counting", LiveArchive: "/archive", ArchivePageSource: "/archive", markRead: "/archive" })[name] ?? ""

/** An app's own file that imports these, as its bundler makes it of the package; all that it takes of it is used. */
function bundled(imported) {
    const app = mkdtempSync(join(tmpdir(), "livegate-app-"))
    try {
        mkdirSync(join(app, "node_modules"))
        symlinkSync(folder, join(app, "node_modules", "livegate"))
        const lines = imported.split(", ").map(name => `import { ${name} } from "livegate${entryOf(name)}"\n`)
        const input = `${lines.join("")}console.log(${imported})`
        const settings = ["--bundle", "--format=esm", "--minify", "--target=es2022"]
        const { status, stdout, stderr } = spawnSync("esbuild", settings, { cwd: app, input, encoding: "utf8" })
        assert.equal(status, 0, stderr)
        return stdout
    } finally {
        rmSync(app, { recursive: true })
    }
}

for (const [imported, kilobytes] of [
    ["RefreshCounts", 1.2], ["connect", 12.3], ["connect, LiveArchive, markRead", 14.6], ["connect, createMachine", 22.3],
    ["connect, createMachine, Screens", 32.1],
    ["connect, createMachine, Screens, openStore, openActions, IndexedDBActionStore, allTabs", 43.4],
]) {
    test(`an app that imports ${imported} loads at most ${kilobytes} KB for it`, t => {
        const size = gzipSync(bundled(imported), { level: 9 }).length
        t.diagnostic(`${imported}: ${(size / 1024).toFixed(1)} KB compressed`)
        assert.ok(size > 500 && size <= kilobytes * 1024, `${size} bytes`)
    })
}

test("an app finds at most 30 names in the module's first entry", async () => {
    const names = Object.keys(await packed("livegate.js"))
    assert.ok(names.length > 20 && names.length <= 30, names.join(", "))
})

test("what an app does not import is not in its file", () => {
    // Of each part a text that it alone has, and that no minifier writes otherwise.
    const parts = {
        connect: "text/event-stream", createMachine: "registerFailed", Screens: "fetchUnlessThere", openStore: "livegate.areas",
        openActions: "no token is accepted", allTabs: "requestLock", RefreshCounts: "automatic",
        LiveArchive: "the server keeps no archive",
    }
    const found = imported => Object.keys(parts).filter(part => bundled(imported).includes(parts[part]))
    assert.deepEqual(found("connect"), ["connect"])
    assert.deepEqual(found("connect, createMachine"), ["connect", "createMachine"])
    assert.deepEqual(found("connect, createMachine, Screens"), ["connect", "createMachine", "Screens"])
    assert.deepEqual(found("connect, allTabs"), ["connect", "allTabs"])
    assert.deepEqual(found("RefreshCounts"), ["RefreshCounts"])
    assert.deepEqual(found("connect, LiveArchive, ArchivePageSource, markRead"), ["connect", "LiveArchive"])
})

test("no private member of a packed class is a WeakMap, which costs more to load and to use", () => {
    // esbuild's functions for them say so in their errors.
    const lowered = /private (field|method|member)/.exec(bundled("connect, createMachine, Screens, openActions, allTabs"))
    assert.equal(lowered, null)
})

test("no member that is only this module's keeps its long name", () => {
    assert.equal(/\._[a-z]{2,}/.exec(bundled("connect, createMachine, Screens, openActions, allTabs, LiveArchive")), null)
})

test("no member that is shortened is one that apps, scenarios or other versions know", () => {
    const source = new URL("../../Sources/LiveClientJS/", import.meta.url)
    const files = ["types", "core", "shell"].flatMap(folder => (
        readdirSync(new URL(folder, source)).map(file => [folder, readFileSync(new URL(`${folder}/${file}`, source), "utf8")])))
    const found = ownMembers.filter(name => files.some(([folder, text]) => (
        new RegExp(folder === "types" ? `\\b${name}\\b` : `"${name}"`).test(text.replace(/\/\*[^]*?\*\/|\/\/.*/g, "")))))
    assert.deepEqual(found, [])
})

test("it asks for a folder where none is given, or an option in its place", () => {
    for (const given of [[], ["--help"]]) {
        const { status, stderr } = spawnSync("node", [fileURLToPath(new URL("../../Sources/LiveClientJS/pack.js", import.meta.url)), ...given], { cwd: folder, encoding: "utf8" })
        assert.deepEqual([status, stderr], [64, "pack.js: which folder? Sources/LiveClientJS/pack.js FOLDER\n"])
        assert.ok(!existsSync(join(folder, "--help")))
    }
})

test("React is imported by its own entry alone, is the app's, and is not in the package", () => {
    const texts = readdirSync(folder).filter(name => name.endsWith(".js")).map(name => [name, readFileSync(join(folder, name), "utf8")])
    assert.deepEqual(texts.filter(([, text]) => /["']react["']/.test(text)).map(([name]) => name), ["react.js"])
    assert.match(texts.find(([name]) => name === "react.js")[1], /^import\{[^}]*\}from"react";/)
    const { peerDependencies, peerDependenciesMeta, dependencies } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))
    assert.deepEqual([peerDependencies, peerDependenciesMeta], [{ react: ">=18" }, { react: { optional: true } }])
    assert.equal(dependencies, undefined)
})

test("what two entries need is the same in both", async () => {
    const [machine, screens] = [await packed("machine.js"), await packed("screens.js")]
    assert.equal(machine.RequestError, screens.RequestError)
})

test("whatever package.json names is there", () => {
    const { exports } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))
    const files = Object.values(exports).flatMap(entry => Object.values(entry))
    assert.equal(files.length, 20)
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

for (const [folder, name] of Object.entries({
    connection: "ConnectionMachine", update: "UpdateMachine", actions: "ActionQueue", fetches: "FetchQueue", intervals: "PartialList",
    relevance: "Relevance",
})) runScenarios(folder, machines[name])
