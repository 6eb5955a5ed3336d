/**
 * The gateway's own share of a call of an MCP tool: beside the same call through the SDK alone.
 */
import { Client } from '@modelcontextprotocol/client'
import { InMemoryTransport, McpServer } from '@modelcontextprotocol/server'
import { checkTools } from '../../../src/agent/mcp/catalogue.ts'
import { mcpConfig } from '../../../src/agent/mcp/config.ts'
import { createServerConnection } from '../../../src/agent/mcp/connection.ts'
import { toolResultJson } from '../../../src/agent/mcp/result-text.ts'
import { silentLog } from '../../../src/lib/log.ts'
import type { Figure } from '../figure.ts'

const calls = 400
const tools = 100

export const mcpFigure: Figure = {
  name: 'mcp',
  about: "the gateway's own share of a call of an MCP tool, and the reading of a list",
  async measure() {
    const [ours, theirs] = await connectPair()
    const client = new Client({ name: 'bench', version: '1' })
    await client.connect(theirs)
    const { signal } = new AbortController()
    const settings = mcpConfig.mcp_servers.parse({ bench: { command: 'none' } })['bench']
    if (settings === undefined) throw new Error('no settings')
    const connection = createServerConnection({
      ...{ name: 'bench', settings, version: '1', open: async () => ours },
      ...{ onCatalogue: () => undefined, clock: Date.now, random: Math.random, log: silentLog },
    })
    const params = { name: 'echo', arguments: {} }
    const whole = async () => toolResultJson(await connection.request({ method: 'tools/call', params }, signal), 50_000)
    const bare = () => client.callTool(params)
    for (let index = 0; index < 50; index += 1) await Promise.all([whole(), bare()])
    const own = await meanMs(whole)
    const alone = await meanMs(bare)
    const listed = Array.from({ length: tools }, (_, index) => describeTool(index))
    const read = await meanMs(async () => checkTools(listed), 50)
    await connection.close()
    await client.close()
    return [
      {
        name: 'own share of an MCP call',
        measured: Math.max(0, own - alone),
        unit: 'ms',
        bar: 1,
        baseline: { what: 'the SDK alone', value: alone },
        note: 'processor time, both ends in one process',
      },
      {
        name: `reading a list of ${tools} tools`,
        measured: read,
        unit: 'ms',
        note: 'processor time, once per start of a server',
      },
    ]
  },
}

async function connectPair() {
  const connect = async () => {
    const server = new McpServer({ name: 'bench', version: '1' })
    server.registerTool('echo', { description: 'Echo' }, () => ({
      content: [{ type: 'text', text: 'x'.repeat(2_000) }],
    }))
    const [client, other] = InMemoryTransport.createLinkedPair()
    await server.connect(other)
    return client
  }
  return [await connect(), await connect()] as const
}

function describeTool(index: number) {
  const properties = Object.fromEntries(
    Array.from({ length: 8 }, (_, key) => [`key_${key}`, { type: 'string', description: 'What it is about' }]),
  )
  return {
    name: `tool_${index}`,
    description: 'Does one thing well. '.repeat(10),
    inputSchema: { type: 'object', properties },
  }
}

/** Processor time. */
async function meanMs(work: () => Promise<unknown>, count = calls): Promise<number> {
  const begun = process.cpuUsage()
  for (let index = 0; index < count; index += 1) await work()
  const { user, system } = process.cpuUsage(begun)
  return (user + system) / 1_000 / count
}
