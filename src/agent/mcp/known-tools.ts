/**
 * The tools of MCP servers as they are known from earlier starts. Starts no server.
 */
import type { SelectableTool } from '../toolsets/select-tools.ts'
import { createCatalogueCache } from './catalogue-cache.ts'
import { enabledServers, type McpConfig } from './config.ts'
import { McpServerError } from './mcp-server-error.ts'
import { toolsetOfServer } from './names.ts'
import { createServerTools } from './server-tools.ts'

export interface KnownServer {
  readonly server: string
  /** Undefined if the server was never asked. */
  readonly tools: readonly SelectableTool[] | undefined
  readonly problems: readonly string[]
}

/** @param cacheDirectory where `createCatalogueCache` stores */
export function readKnownServers(cacheDirectory: string, config: McpConfig): readonly KnownServer[] {
  const cache = createCatalogueCache(cacheDirectory)
  const request = async () => {
    throw new McpServerError('unreachable', 'no server is called here')
  }
  const enabled = enabledServers(config)
  const servers = enabled.map(([server]) => server)
  return enabled.map(([server, settings]) => {
    const catalogue = cache.read(server, settings)
    if (catalogue === undefined) return { server, tools: undefined, problems: [] }
    const { definitions, problems } = createServerTools({
      server,
      servers,
      settings,
      catalogue,
      connection: { request },
    })
    return { server, problems, tools: definitions.map(({ name, toolset }) => ({ name, toolset })) }
  })
}

/** Entries of toolset lists that name a server whose tools are not known yet. */
export function toolsetsOfServers(config: McpConfig): readonly SelectableTool[] {
  return enabledServers(config).map(([server]) => ({ name: toolsetOfServer(server), toolset: toolsetOfServer(server) }))
}
