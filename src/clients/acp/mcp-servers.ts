/**
 * The MCP servers that an editor brings, in the form of `mcp_servers` of the configuration.
 */
import type { McpServer } from '@agentclientprotocol/sdk'
import { invalidParams } from './request-errors.ts'

const maxServers = 50

/** Throws a `RequestError` for two servers of one name, and for too many. */
export function toServerConfig(servers: readonly McpServer[]): Readonly<Record<string, unknown>> {
  if (servers.length > maxServers)
    throw invalidParams(`At most ${maxServers} MCP servers can be used; there are ${servers.length}.`)
  const config: Record<string, unknown> = {}
  for (const server of servers) {
    const name = toName(server.name)
    if (name === '')
      throw invalidParams(
        `The name of an MCP server has letters or digits, not ${JSON.stringify(server.name.slice(0, 80))}.`,
      )
    if (Object.hasOwn(config, name)) throw invalidParams(`Two MCP servers have the name ${name}.`)
    config[name] = toConfig(server)
  }
  return config
}

/** Editors allow names with spaces; the tools are called `mcp_<name>_<tool>`. */
function toName(name: string): string {
  return name
    .replace(/[^\w.-]+/g, '-')
    .replace(/^[^a-z0-9]+/i, '')
    .slice(0, 40)
}

function toConfig(server: McpServer): unknown {
  if ('command' in server) return { command: server.command, args: server.args, env: toRecord(server.env) }
  return { url: server.url, headers: toRecord(server.headers), transport: server.type }
}

function toRecord(pairs: readonly { readonly name: string; readonly value: string }[]): Record<string, string> {
  return Object.fromEntries(pairs.map(({ name, value }) => [name, value]))
}
