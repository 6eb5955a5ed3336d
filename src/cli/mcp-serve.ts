/**
 * `hermes mcp serve`: the MCP server of the gateway for a client that starts it as a program. The standard output holds messages
 * only. It works through the running daemon, finds it again after a restart, and runs without one: calls then say what to do.
 * An own gateway is not started, because it would keep the daemon from starting for as long as the client is open.
 */

import { toUnreachableError } from '../api/client-errors.ts'
import { createGatewayMcpServer } from '../clients/mcp-server/create-server.ts'
import type { GatewayApi } from '../clients/mcp-server/gateway-api.ts'
import { createLineTransport } from '../clients/mcp-server/line-transport.ts'
import { HermesError, messageOf } from '../lib/errors.ts'
import { asRecord, asString } from '../lib/json.ts'
import type { CliContext } from './kit/context.ts'
import { findRunningDaemon } from './kit/daemon.ts'
import { toSingleLine } from './kit/display.ts'
import { interceptSignals } from './kit/endpoint.ts'
import { readSettings } from './kit/settings.ts'

export interface McpServeOptions {
  readonly verbose: boolean
}

export async function mcpServe(context: CliContext, { verbose }: McpServeOptions): Promise<void> {
  const note = (text: string) => {
    if (verbose) context.errors.write(`${toSingleLine(text)}\n`)
  }
  const api = createRemoteApi(context)
  let start: string | undefined
  const ended = Promise.withResolvers<void>()
  const server = createGatewayMcpServer({ api, version: context.version, start: () => start })
  const transport = createLineTransport({
    input: context.input,
    output: context.output,
    onInvalidLine: (reason) => note(`hermes mcp serve: ${reason}`),
  })
  const signals = interceptSignals()
  signals.signal.addEventListener('abort', () => void server.close(), { once: true })
  server.server.onclose = ended.resolve
  server.server.onerror = (error) => note(`hermes mcp serve: ${messageOf(error)}`)
  try {
    // Before the first message, so that a client without a cursor is told everything from now on.
    start = await readStart(api).catch((error: unknown) => {
      note(`hermes mcp serve: ${messageOf(error)}`)
      return undefined
    })
    await server.connect(transport)
    await ended.promise
  } finally {
    signals.remove()
  }
}

async function readStart(api: GatewayApi): Promise<string | undefined> {
  const response = await api.fetch('/api/events', { signal: AbortSignal.timeout(5_000) })
  const cursor = asString(asRecord(await response.json())['next_cursor'])
  return response.ok && cursor !== '' ? cursor : undefined
}

/** Over HTTP to the daemon, which is looked up again when it does not answer. */
function createRemoteApi(context: CliContext): GatewayApi {
  let found: Promise<{ readonly url: string; readonly token: string }> | undefined
  async function find() {
    const { token } = await readSettings(context)
    const daemon = await findRunningDaemon({ home: context.home, token, fetch })
    if (daemon === undefined) throw new HermesError('cli/no-daemon')
    return daemon
  }
  return {
    isRemote: true,
    async fetch(path, { method = 'GET', body, signal }) {
      found ??= find()
      const looking = found
      try {
        const { url, token } = await looking
        const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
        const content = body === undefined ? {} : { body: JSON.stringify(body) }
        const response = await fetch(new URL(path, url), { method, headers, signal, ...content })
        if (response.status === 401 && found === looking) found = undefined
        return response
      } catch (error) {
        if (found === looking) found = undefined
        if (signal.aborted || error instanceof HermesError) throw error
        throw toUnreachableError(error)
      }
    },
  }
}
