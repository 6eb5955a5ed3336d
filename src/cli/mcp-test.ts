/**
 * `hermes mcp test`: starts an MCP server, shows what it offers and stops it.
 */
import { enabledServers } from '../agent/mcp/config.ts'
import { createServerTools } from '../agent/mcp/server-tools.ts'
import { HermesError, messageOf } from '../lib/errors.ts'
import { createRedactor } from '../lib/redact.ts'
import { toSingleLine } from '../lib/visible-text.ts'
import type { CliContext, JsonOption } from './kit/context.ts'
import { createDisplay } from './kit/display.ts'
import { readSettings } from './kit/settings.ts'
import { askServer, findServer } from './shared/mcp-connection.ts'

/** Throws `cli/not-found`, and `cli/failed` when the server cannot be reached. */
export async function mcpTest(context: CliContext, name: string, { json }: JsonOption): Promise<void> {
  const settings = await readSettings(context)
  const server = findServer(name, settings)
  // A server may leave sockets open.
  context.exitsAfterCommand = true
  const { signal } = new AbortController()
  const catalogue = await askServer(context, settings, [name, server], signal).catch((error: unknown) => {
    throw new HermesError('cli/failed', createRedactor({ secrets: settings.secrets.all })(messageOf(error)), {
      cause: error,
      hint: `Check mcp_servers.${name} in config.yaml.`,
    })
  })
  const connection = { request: async () => undefined }
  // A server that is turned off is tried as if it was turned on.
  const servers = enabledServers(settings.config.current()).map(([enabled]) => enabled)
  const { definitions, problems } = createServerTools({
    server: name,
    servers: servers.includes(name) ? servers : [...servers, name],
    settings: server,
    catalogue,
    connection,
  })
  const tools = definitions.map(({ name: tool, description, approval }) => ({
    name: tool,
    description,
    asks: approval !== undefined,
  }))
  const display = createDisplay(context.output, context.environment)
  if (json) return display.json({ server: name, tools, problems })
  display.table(
    ['TOOL', 'ASKS FIRST', 'ABOUT'],
    tools.map((tool) => [tool.name, tool.asks ? 'yes' : '', toSingleLine(tool.description)]),
  )
  for (const problem of problems) context.errors.write(`hermes: ${name}: ${toSingleLine(problem)}\n`)
  if (!server.enabled) context.errors.write(`hermes: ${name} is turned off (mcp_servers.${name}.enabled)\n`)
}
