// livegate.d.ts and types/*.d.ts, by TypeScript's own compiler
import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { fileURLToPath } from "node:url"

const options = ["--noEmit", "--strict", "--target", "es2022", "--module", "es2022", "--moduleResolution", "node",
    "--lib", "es2022,dom,dom.iterable"]

function compile(file) {
    const { status, stdout, error } = spawnSync("tsc", [...options, file], { encoding: "utf8" })
    assert.equal(error, undefined)
    return { status, stdout }
}

test("an app compiles against the types", () => {
    const { status, stdout } = compile(fileURLToPath(new URL("types/app.ts", import.meta.url)))
    assert.equal(status, 0, stdout)
})

for (const entry of ["livegate", "connection", "tabs", "machine", "screens", "actions", "archive"]) {
    test(`whatever ${entry}.js exports is declared, and a name that it has not is refused`, async () => {
        const url = new URL(`../../Sources/LiveClientJS/${entry}.js`, import.meta.url)
        const names = Object.keys(await import(url))
        const folder = mkdtempSync(join(tmpdir(), "livegate-types-"))
        try {
            const write = (file, list) => {
                writeFileSync(join(folder, file), `import * as entry from ${JSON.stringify(fileURLToPath(url))}\n`
                    + list.map(name => `console.log(entry.${name})\n`).join(""))
                return compile(join(folder, file))
            }
            assert.ok(names.length > 1)
            const { status, stdout } = write("all.ts", names)
            assert.equal(status, 0, stdout)
            assert.match(write("unknown.ts", ["conect"]).stdout, /conect/)
        } finally {
            rmSync(folder, { recursive: true })
        }
    })
}

test("no declaration says `any`, which the compiler would not look at", () => {
    const folder = new URL("../../Sources/LiveClientJS/types/", import.meta.url)
    const files = readdirSync(folder)
    assert.ok(files.length >= 6)
    for (const file of files) {
        const code = readFileSync(new URL(file, folder), "utf8").replace(/\/\*[^]*?\*\/|\/\/.*/g, "")
        assert.doesNotMatch(code, /\bany\b/, file)
    }
})
