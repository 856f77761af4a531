// Runs the scenarios of Tests/Scenarios, which the Swift SDK runs too (LiveStateTests/Support/Scenario.swift).
//
// A file:
//   about     one sentence: what it proves
//   settings  of the machine; what is absent has its default
//   steps     in order, each with
//     at      the time, in ms
//     in      what happens: {"name":{…}}
//     out     what must be done, all of it, in order; absent: nothing
//     view    members of the machine's view that must have these values (others are not looked at)
//     wake    when the machine wants to be woken; null: not at all; absent: not looked at
// A step may not pass over a wake that is due: {"wake":{}} stands as a step of its own.
import assert from "node:assert/strict"
import { readdirSync, readFileSync } from "node:fs"
import { test } from "node:test"

/** Makes a test of each scenario in a folder. */
export function runScenarios(folder, Machine) {
    const root = new URL(`../Scenarios/${folder}/`, import.meta.url)
    const files = readdirSync(root).filter(name => name.endsWith(".json")).sort()
    assert.ok(files.length > 0, `no scenario in ${root}`)
    for (const file of files) {
        const scenario = JSON.parse(readFileSync(new URL(file, root), "utf8"))
        test(`${folder}/${file}: ${scenario.about}`, () => run(scenario, new Machine(scenario.settings ?? {})))
    }
}

function run(scenario, machine) {
    assert.ok(scenario.about && scenario.steps.length > 0)
    scenario.steps.forEach((step, index) => {
        const due = machine.wakeAt
        if (due !== null && !("wake" in step.in)) assert.ok(step.at <= due, `step ${index} passes over the wake at ${due}`)
        const effects = machine.handle(step.in, step.at)
        // As it stands in JSON: members that are undefined are absent.
        assert.deepEqual(JSON.parse(JSON.stringify(effects)), step.out ?? [], `step ${index}`)
        const view = JSON.parse(JSON.stringify(machine.view))
        for (const [name, value] of Object.entries(step.view ?? {})) {
            assert.deepEqual(view[name] ?? null, value, `step ${index}: ${name}`)
        }
        if ("wake" in step) assert.equal(machine.wakeAt, step.wake, `step ${index}: wake`)
    })
}
