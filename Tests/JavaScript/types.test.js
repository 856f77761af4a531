// livegate.d.ts and types/*.d.ts, by TypeScript's own compiler
import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import "./fakereact.js"

const options = ["--noEmit", "--strict", "--target", "es2022", "--module", "es2022", "--moduleResolution", "node",
    "--lib", "es2022,dom,dom.iterable"]
const entries = ["livegate", "connection", "tabs", "machine", "screens", "actions", "archive", "counting", "react", "core"]
const address = entry => new URL(`../../Sources/LiveClientJS/${entry}.js`, import.meta.url)

// What the compiler says, a line each, of an app and of two files for each entry. All of them at once: it spends its time on
// the browser's own declarations.
function compile(exported) {
    const folder = mkdtempSync(join(tmpdir(), "livegate-types-"))
    const write = (file, entry, names) => {
        writeFileSync(join(folder, file), `import * as entry from ${JSON.stringify(fileURLToPath(address(entry)))}\n`
            + names.map(name => `console.log(entry.${name})\n`).join(""))
        return join(folder, file)
    }
    try {
        const files = entries.flatMap(entry => [
            write(`${entry}-all.ts`, entry, exported[entry]), write(`${entry}-unknown.ts`, entry, ["conect"])])
        const app = fileURLToPath(new URL("types/app.ts", import.meta.url))
        const { stdout, error } = spawnSync("tsc", [...options, app, ...files], { encoding: "utf8" })
        assert.equal(error, undefined)
        return stdout.trim().split("\n")
    } finally {
        rmSync(folder, { recursive: true })
    }
}

const exported = {}
for (const entry of entries) exported[entry] = Object.keys(await import(address(entry)))
const said = compile(exported)

test("an app compiles against the types", () => {
    assert.deepEqual(said.filter(line => !/^\S*-unknown\.ts\(/.test(line)), [])
})

for (const entry of entries) {
    test(`whatever ${entry}.js exports is declared, and a name that it has not is refused`, () => {
        assert.ok(exported[entry].length > 0)
        assert.deepEqual(said.filter(line => line.includes(`${entry}-all.ts`)), [])
        const refused = said.filter(line => line.includes(`/${entry}-unknown.ts(`))
        assert.equal(refused.length, 1)
        assert.match(refused[0], /conect/)
    })
}

for (const resolution of ["node", "node16"]) {
    for (const lib of ["es2022", "es2022,dom"]) {
        test(`a package's user tells states, updates and errors apart: resolution ${resolution}, lib ${lib}`, () => {
            const folder = mkdtempSync(join(tmpdir(), "livegate-types-"))
            const compileWith = file => {
                const options = ["--noEmit", "--strict", "--target", "es2022", "--lib", lib, "--moduleResolution", resolution,
                    "--module", resolution === "node" ? "es2022" : "node16"]
                return spawnSync("tsc", [...options, file], { cwd: folder, encoding: "utf8" }).stdout.trim()
            }
            try {
                mkdirSync(join(folder, "node_modules"))
                symlinkSync(fileURLToPath(new URL("../../Sources/LiveClientJS", import.meta.url)), join(folder, "node_modules", "livegate"))
                writeFileSync(join(folder, "package.json"), "{\"type\": \"module\"}")
                copyFileSync(fileURLToPath(new URL("types/tags.ts", import.meta.url)), join(folder, "tags.ts"))
                assert.equal(compileWith("tags.ts"), "")
                // A case less, and a fact of another case.
                const text = readFileSync(join(folder, "tags.ts"), "utf8")
                writeFileSync(join(folder, "wrong.ts"), text.replace('case "read": return facts.upTo\n', "").replace("facts.attempt", "facts.why"))
                const refused = compileWith("wrong.ts").split("\n")
                assert.deepEqual(refused.map(line => /TS\d+/.exec(line)?.[0]), ["TS2339", "TS2345"])
            } finally {
                rmSync(folder, { recursive: true })
            }
        })
    }
}

test("the types compile without the browser's own", () => {
    const folder = fileURLToPath(new URL("../../Sources/LiveClientJS/", import.meta.url))
    const files = readdirSync(folder).filter(name => name.endsWith(".d.ts")).map(name => join(folder, name))
    const alone = ["--noEmit", "--strict", "--target", "es2022", "--moduleResolution", "node16", "--module", "node16", "--lib", "es2022"]
    assert.equal(spawnSync("tsc", [...alone, ...files], { encoding: "utf8" }).stdout, "")
})

test("no declaration says `any`, which the compiler would not look at", () => {
    const folder = new URL("../../Sources/LiveClientJS/types/", import.meta.url)
    const files = readdirSync(folder)
    assert.ok(files.length >= 6)
    for (const file of files) {
        const code = readFileSync(new URL(file, folder), "utf8").replace(/\/\*[^]*?\*\/|\/\/.*/g, "")
        assert.doesNotMatch(code, /\bany\b/, file)
    }
})
