// update.js, updatecore.js, pending.js, freshness.js
import { UpdateMachine } from "../../Sources/LiveClientJS/core.js"
import { runScenarios } from "./scenarios.js"

runScenarios("update", UpdateMachine)
