/**
 * The MCP servers of config.yaml with their state, without starting one.
 */
import type { McpConfig } from '../../agent/mcp/config.ts'
import { inspectServers } from '../../agent/mcp/inspect.ts'
import { readKnownServers } from '../../agent/mcp/known-tools.ts'
import type { HomeLayout } from '../../lib/home.ts'
import type { Redactor } from '../../lib/redact.ts'

export interface ListedServer {
  readonly name: string
  /** `unknown`: it was never asked for its tools. */
  readonly state: 'on' | 'off' | 'unknown' | 'failing'
  /** The program with its arguments, or the address. */
  readonly connection: string
  readonly tools: readonly string[]
  /** Why it cannot be used; '' if nothing is known against it. */
  readonly problem: string
}

/** @param degraded what the running gateway says */
export function listServers(
  home: Pick<HomeLayout, 'mcpCache' | 'mcpTokens'>,
  settings: McpConfig,
  {
    searchPath,
    degraded,
    redact,
  }: { readonly searchPath: string | undefined; readonly degraded: readonly string[]; readonly redact: Redactor },
): readonly ListedServer[] {
  const known = new Map(readKnownServers(home.mcpCache, settings).map((entry) => [entry.server, entry]))
  const said = [...inspectServers(settings, { tokens: home.mcpTokens, searchPath }), ...degraded]
  return Object.entries(settings.mcp_servers).map(([name, { enabled, command = '', args, url }]): ListedServer => {
    const tools = known.get(name)?.tools
    const names = [`MCP server ${name} `, `MCP server ${name}:`, `mcp_servers.${name}:`, `mcp_servers.${name}.`]
    const problem = said.find((text) => names.some((start) => text.includes(start))) ?? ''
    return {
      name,
      state: !enabled ? 'off' : problem !== '' ? 'failing' : tools === undefined ? 'unknown' : 'on',
      // Some programs take their keys as arguments.
      connection: redact(url ?? [command, ...args].join(' ')),
      tools: (tools ?? []).map((tool) => tool.name),
      problem: redact(problem),
    }
  })
}
