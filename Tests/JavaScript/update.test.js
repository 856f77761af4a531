// update.js, updatecore.js, pending.js, freshness.js
import { UpdateMachine } from "../../Sources/LiveClientJS/livegate.js"
import { runScenarios } from "./scenarios.js"

runScenarios("update", UpdateMachine)
