/**
 * What can be said of MCP servers without starting them.
 */
import { delimiter } from 'node:path'
import { findProgram } from '../../lib/find-program.ts'
import { enabledServers, type McpConfig } from './config.ts'
import { createLoginStore } from './login-store.ts'
import { serversWithoutNames } from './names.ts'

export interface InspectOptions {
  /** The directory of the logins. */
  readonly tokens: string
  /** The PATH of the gateway. */
  readonly searchPath: string | undefined
}

/** One sentence per server that cannot work. */
export function inspectServers(config: McpConfig, { tokens, searchPath }: InspectOptions): readonly string[] {
  const standard = ['/usr/local/bin', '/usr/bin', '/bin'].join(delimiter)
  const enabled = enabledServers(config)
  const nameless = new Map(serversWithoutNames(enabled.map(([server]) => server)))
  return enabled.flatMap(([server, { command, env, auth }]) => {
    const owner = nameless.get(server)
    if (owner !== undefined)
      return [`mcp_servers.${server}: its tools would have the names of those of ${owner}; rename one of the servers`]
    if (auth === 'oauth' && createLoginStore(tokens, server).tokens() === undefined)
      return [`mcp_servers.${server}: no one has logged in yet; run hermes mcp login ${server}`]
    if (command === undefined || command.includes('/')) return []
    const program = findProgram(command, env['PATH'] ?? searchPath ?? standard)
    return program === undefined ? [`mcp_servers.${server}.command: there is no program ${command} on the PATH`] : []
  })
}
