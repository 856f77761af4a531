// core/gate.js
import { ApiGate } from "../../Sources/LiveClientJS/core/gate.js"
import { runScenarios } from "./scenarios.js"

runScenarios("gate", ApiGate)
