#!/usr/bin/env node
// Packs the module for npm: minified files, types and what npm has to know, in a separate folder. Nothing is published.
//
// Sources/LiveClientJS/pack.js FOLDER     needs esbuild, of Debian's packages
//
// Each entry is at most 21 KB compressed, with all that it imports; the first one is at most 52 KB.
// Code that two entries need is in one file, which is loaded once.

import { spawnSync } from "node:child_process"
import { copyFileSync, cpSync, mkdirSync, readFileSync, readdirSync } from "node:fs"
import { join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { gzipSync } from "node:zlib"

/** What an app loads at most for one entry, in bytes; and for all that the first one has. */
const maximumSize = 21 * 1024, maximumWhole = 52 * 1024
/** Members that nobody but this module reads, and that it neither sends nor keeps: they need no long names. So does `_name`. */
export const ownMembers = [
    "aliveAt", "awaits", "batches", "comeBack", "dueAt", "expiresAt", "findExpiry", "flight", "forgetToken", "inOrder",
    "isBeforeKnown", "isFresh", "isRead", "isSent", "isShown", "isSilent", "isSuspect", "isUncertain", "isWaiting", "knownEnd",
    "openedAt", "renewal", "sentAt", "sink", "storing", "testUntil", "transport", "triedUntil", "wasUncertain",
]
const ownNames = `^(_[a-z].*|${ownMembers.join("|")})$`
const module = fileURLToPath(new URL(".", import.meta.url))
const { exports } = JSON.parse(readFileSync(join(module, "package.json"), "utf8"))
const entries = Object.values(exports).map(entry => entry.default.slice(2))

function build(folder, entries) {
    const files = entries.map(entry => join(module, entry))
    const settings = [
        "--bundle", "--splitting", "--format=esm", "--minify", `--mangle-props=${ownNames}`, "--target=es2022", "--log-level=warning",
        // The app's own, which one entry imports.
        "--external:react",
    ]
    const { status, error } = spawnSync("esbuild", [...files, ...settings, `--outdir=${folder}`], { stdio: "inherit" })
    if (error) throw new Error(`esbuild could not be run: ${error.message}; deploy/bootstrap --tests installs it`)
    if (status !== 0) throw new Error(`esbuild failed with status ${status}`)
}

/** A packed file and all that it imports. */
function loaded(folder, file, found = new Set()) {
    if (found.has(file)) return found
    found.add(file)
    const source = readFileSync(join(folder, file), "utf8")
    for (const [, imported] of source.matchAll(/(?:from|import)"\.\/([^"]+)"/g)) loaded(folder, imported, found)
    return found
}

/** By its name, what an entry costs, in compressed bytes. */
export function sizes(folder) {
    const size = file => gzipSync(readFileSync(join(folder, file)), { level: 9 }).length
    const total = files => [...files].reduce((sum, file) => sum + size(file), 0)
    return Object.fromEntries(entries.map(entry => [entry, total(loaded(folder, entry))]))
}

/** Packs into a folder that is empty or not there yet. Returns the sizes; throws where an entry is too large. */
export function pack(folder) {
    mkdirSync(folder, { recursive: true })
    if (readdirSync(folder).length > 0) throw new Error(`${folder} is not empty: give another folder`)
    // The machines are built alone, for the few apps that want them. So all other apps load fewer files.
    build(folder, entries.filter(entry => entry !== "core.js"))
    build(folder, ["core.js"])
    const types = Object.values(exports).map(entry => entry.types)
    for (const file of ["package.json", "README.md", ...types]) copyFileSync(join(module, file), join(folder, file))
    cpSync(join(module, "types"), join(folder, "types"), { recursive: true })
    const found = sizes(folder)
    for (const [entry, size] of Object.entries(found)) {
        const maximum = entry === "livegate.js" ? maximumWhole : maximumSize
        if (size <= maximum) continue
        throw new Error(`${entry} is ${size} bytes compressed, more than ${maximum}: take something out of it, or split it`)
    }
    return found
}

if (process.argv[1] && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
    const folder = process.argv[2]
    if (!folder || folder.startsWith("-")) {
        console.error("pack.js: which folder? Sources/LiveClientJS/pack.js FOLDER")
        process.exit(64)
    }
    for (const [entry, size] of Object.entries(pack(folder))) console.log(`${entry.padEnd(15)} ${(size / 1024).toFixed(1)} KB compressed`)
}
