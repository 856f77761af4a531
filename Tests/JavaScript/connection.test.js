// connection.js, connection-attempts.js, connection-stream.js, ways.js
import { ConnectionMachine } from "../../Sources/LiveClientJS/livegate.js"
import { runScenarios } from "./scenarios.js"

runScenarios("connection", ConnectionMachine)
