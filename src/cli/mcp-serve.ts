/**
 * `hermes mcp serve`: the MCP server of the gateway for a client that starts it as a program. The standard output holds messages
 * only. It works through the running daemon, finds it again after a restart, and runs without one: calls then say what to do.
 * An own gateway is not started, because it would keep the daemon from starting for as long as the client is open.
 */
import { callRoute } from '../api/client.ts'
import { readEvents } from '../api/routes/messages.ts'
import { createGatewayMcpServer } from '../clients/mcp-server/create-server.ts'
import type { McpGateway } from '../clients/mcp-server/gateway.ts'
import { createLineTransport } from '../clients/mcp-server/line-transport.ts'
import { HermesError, messageOf } from '../lib/errors.ts'
import { toSingleLine } from '../lib/visible-text.ts'
import type { CliContext } from './kit/context.ts'
import { findRunningDaemon } from './kit/daemon.ts'
import { interceptSignals } from './kit/endpoint.ts'
import { readSettings } from './kit/settings.ts'

export interface McpServeOptions {
  readonly verbose: boolean
}

export async function mcpServe(context: CliContext, { verbose }: McpServeOptions): Promise<void> {
  const note = (text: string) => {
    if (verbose) context.errors.write(`${toSingleLine(text)}\n`)
  }
  const gateway = createRemoteGateway(context)
  let start: string | undefined
  const ended = Promise.withResolvers<void>()
  const server = createGatewayMcpServer(gateway, context.version, () => start)
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
    start = await readStart(gateway).catch((error: unknown) => {
      note(`hermes mcp serve: ${messageOf(error)}`)
      return undefined
    })
    await server.connect(transport)
    await ended.promise
  } finally {
    signals.remove()
  }
}

async function readStart(gateway: McpGateway): Promise<string> {
  const signal = AbortSignal.timeout(5_000)
  return (await callRoute(gateway, readEvents, { signal })).next_cursor
}

/** Over HTTP to the daemon, which is looked up again when it does not answer. */
function createRemoteGateway(context: CliContext): McpGateway {
  let connection: Promise<{ readonly url: string; readonly token: string }> | undefined
  async function find() {
    const { token } = await readSettings(context)
    const daemon = await findRunningDaemon({ home: context.home, token })
    if (daemon === undefined) throw new HermesError('cli/no-daemon')
    return daemon
  }
  return {
    url: 'http://gateway.invalid',
    token: '',
    isRemote: true,
    async fetch(address, init) {
      connection ??= find()
      const looking = connection
      try {
        const { url, token } = await looking
        const { pathname, search } = new URL(String(address))
        const headers = { ...Object.fromEntries(new Headers(init?.headers)), authorization: `Bearer ${token}` }
        const response = await fetch(new URL(`${pathname}${search}`, url), { ...init, headers })
        if (response.status === 401 && connection === looking) connection = undefined
        return response
      } catch (error) {
        if (connection === looking) connection = undefined
        throw error
      }
    },
  }
}
