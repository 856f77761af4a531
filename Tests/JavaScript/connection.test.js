// connection.js, connection-attempts.js, connection-stream.js, ways.js
import { ConnectionMachine } from "../../Sources/LiveClientJS/core.js"
import { runScenarios } from "./scenarios.js"

runScenarios("connection", ConnectionMachine)
