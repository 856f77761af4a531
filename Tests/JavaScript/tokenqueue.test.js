// core/tokens.js: one token is fetched at a time, for the whole client (TokenQueueTests.swift).
import { TokenQueue } from "../../Sources/LiveClientJS/core/tokens.js"
import { runScenarios } from "./scenarios.js"

runScenarios("tokens", TokenQueue)
