/**
 * The options of all clients of the SDK of OpenAI.
 */
import type { ClientOptions } from 'openai'
import { type FetchFunction, limitErrorBody } from '../http-fetch.ts'

/** @param apiKey '' for a server without authentication */
export function createClientOptions(baseURL: string, apiKey: string, fetch: FetchFunction): ClientOptions {
  return {
    baseURL,
    // The SDK requires a key. A local server often has none; then no header is sent.
    apiKey: apiKey || 'none',
    defaultHeaders: apiKey === '' ? { Authorization: null } : undefined,
    // When omitted, these are read from the process environment.
    organization: null,
    project: null,
    webhookSecret: null,
    adminAPIKey: null,
    logLevel: 'off',
    // The caller repeats a call, perhaps with another key.
    maxRetries: 0,
    fetch: limitErrorBody(fetch),
  }
}
