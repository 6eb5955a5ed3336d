/**
 * MCP servers for tests: the SDK's own server, connected in this process or as a program.
 */
import type { Transport } from '@modelcontextprotocol/client'
import { InMemoryTransport, McpServer } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { type McpServerConfig, mcpConfig } from '../../../src/agent/mcp/config.ts'
import {
  type ConnectionDeps,
  createServerConnection,
  type ServerConnection,
} from '../../../src/agent/mcp/connection.ts'
import { silentLog } from '../../../src/lib/log.ts'

/** The settings of one server as the configuration reads them. */
export function serverSettings(settings: Readonly<Record<string, unknown>> = {}): McpServerConfig {
  const [found] = Object.values(mcpConfig.mcp_servers.parse({ test: { command: 'none', ...settings } }))
  if (found === undefined) throw new Error('no settings')
  return found
}

/** A server with tools that read, write, count and wait. */
export function createTestServer(): McpServer {
  const server = new McpServer({ name: 'test', version: '1' }, { capabilities: { tools: { listChanged: true } } })
  let count = 0
  server.registerTool(
    'look',
    {
      description: 'Look something up',
      inputSchema: z.object({ what: z.string() }),
      annotations: { readOnlyHint: true },
    },
    ({ what }) => ({ content: [{ type: 'text', text: `seen: ${what}` }] }),
  )
  server.registerTool('count', { description: 'Count up' }, () => {
    count += 1
    return { content: [{ type: 'text', text: String(count) }] }
  })
  server.registerTool('wait', { description: 'Wait for ever' }, (context) => {
    const { promise, reject } = Promise.withResolvers<never>()
    context.mcpReq.signal.addEventListener('abort', () => reject(new Error('cancelled')))
    return promise
  })
  return server
}

export interface InProcessServer {
  readonly deps: ConnectionDeps
  readonly connection: ServerConnection
  /** How often the server was started. */
  starts(): number
  /** The transport of the latest server; closing it is the death of the server. */
  latest(): Transport
}

/** A connection to servers in this process. `create` is called at each start. */
export function connectInProcess(
  create: () => McpServer | Promise<McpServer>,
  options: Partial<ConnectionDeps> = {},
): InProcessServer {
  const transports: Transport[] = []
  const deps: ConnectionDeps = {
    name: 'test',
    settings: serverSettings(),
    version: '0',
    async open() {
      const server = await create()
      const [ours, theirs] = InMemoryTransport.createLinkedPair()
      transports.push(theirs)
      await server.connect(theirs)
      return ours
    },
    onCatalogue: () => undefined,
    clock: Date.now,
    random: () => 0.5,
    log: silentLog,
    ...options,
  }
  return {
    deps,
    connection: createServerConnection(deps),
    starts: () => transports.length,
    latest() {
      const transport = transports.at(-1)
      if (transport === undefined) throw new Error('no server was started')
      return transport
    },
  }
}
