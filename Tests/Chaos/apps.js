// Apps on the JavaScript module in one process of Node, for Tests/Chaos: `node apps.js LIVE API ACCOUNT…`. A line on its input
// is an order, answered by a line: `report`, `calm`.

import { createInterface } from "node:readline"
import { App, Memory } from "./page/app.js"

const [live, api, ...accounts] = process.argv.slice(2)
const apps = accounts.map((account, index) => new App({ name: `node${index}`, account, live, api, memory: new Memory() }))
for (const app of apps) app.run()
for await (const word of createInterface({ input: process.stdin })) {
    if (word === "report") console.log(JSON.stringify(apps.map(app => app.report())))
    else if (word === "calm") console.log(JSON.stringify(apps.map(app => app.calm()) && true))
    else process.exit(64)
}
process.exit(0)
