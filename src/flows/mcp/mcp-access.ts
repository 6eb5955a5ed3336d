/**
 * Opens the MCP servers. Their code is imported when one is configured and a turn, a status or a command needs it.
 */

import type { ServerReport } from '../../agent/mcp/servers.ts'
import type { Auxiliary } from '../../agent/models/auxiliary.ts'
import type { ToolDefinition } from '../../agent/tools/tool.ts'
import type { SelectableTool } from '../../agent/toolsets/select-tools.ts'
import { lazy } from '../../lib/cache.ts'
import type { SessionKey } from '../../message/ids.ts'
import type { McpMachine, McpRuntime, McpRuntimeDeps } from './mcp-servers.ts'
import type { SessionServerConfig, SessionServers } from './session-servers.ts'

export interface McpAccess {
  /** The tools of the configured servers. Never rejects. */
  tools(): Promise<readonly ToolDefinition[]>
  /** The tools as they are known from earlier starts. Starts no server. */
  knownTools(): Promise<readonly SelectableTool[]>
  /** Asks the servers whose tools are not known, in the background. */
  discover(): Promise<void>
  /** Replaces the servers of one conversation; none ends them. `directory`: where they start. Rejects when the code cannot be loaded. */
  setSessionServers(key: SessionKey, servers: SessionServerConfig, directory: string | undefined): Promise<void>
  /** Read for each message; `opened` is absent until a conversation brings servers along. */
  readonly sessionServers: { opened?: Pick<SessionServers, 'tools'> }
  /** What is wrong with servers, for the owner. */
  problems(): readonly string[]
  /** Stops all servers and asks each one again. Rejects with the reason of the signal. */
  reload(signal: AbortSignal): Promise<readonly ServerReport[]>
  /** The configuration has changed. */
  reconfigured(): void
  /** Stops all servers. */
  close(): Promise<void>
}

/** The parts of the agent that servers use. */
interface McpAgent {
  readonly models: { readonly auxiliary: Auxiliary }
  readonly environments: Pick<McpMachine, 'openProxy'>
  readonly tools: { changed(): void }
}

/** @param agent called when a server is needed */
export function createMcpAccess(
  gateway: Omit<McpRuntimeDeps, 'auxiliary' | 'openProxy' | 'onToolsChanged'>,
  agent: () => McpAgent,
): McpAccess {
  const { home, settings, log } = gateway
  let loaded: McpRuntime | undefined
  let isClosed = false
  const sessionServers: McpAccess['sessionServers'] = {}

  const runtimeDeps = () => ({
    ...gateway,
    openProxy: agent().environments.openProxy,
    auxiliary: agent().models.auxiliary,
  })
  const create = lazy(async (): Promise<McpRuntime> => {
    const { openMcpServers } = await import('./mcp-servers.ts')
    loaded = openMcpServers({ ...runtimeDeps(), onToolsChanged: agent().tools.changed })
    return loaded
  })
  const openSessionServers = lazy(async (): Promise<SessionServers> => {
    const { createSessionServers } = await import('./session-servers.ts')
    const opened = createSessionServers(runtimeDeps())
    sessionServers.opened = opened
    return opened
  })
  /** Undefined where no server is configured. */
  const load = async (): Promise<McpRuntime | undefined> => {
    if (isClosed || (create.made() === undefined && Object.keys(settings().mcp_servers).length === 0)) return undefined
    return await create()
  }

  return {
    async tools() {
      try {
        return (await (await load())?.tools()) ?? []
      } catch (error) {
        log.error({ event: 'mcp.unavailable', err: error }, 'the tools of MCP servers are missing')
        return []
      }
    },
    async knownTools() {
      if (Object.keys(settings().mcp_servers).length === 0) return []
      const { readKnownServers } = await import('../../agent/mcp/known-tools.ts')
      return readKnownServers(home.mcpCache, settings()).flatMap(({ tools = [] }) => tools)
    },
    discover: async () => (await load())?.discover(),
    async setSessionServers(key, servers, directory) {
      if (isClosed || (openSessionServers.made() === undefined && Object.keys(servers).length === 0)) return
      await (await openSessionServers()).set(key, servers, directory)
    },
    sessionServers,
    problems: () => loaded?.problems() ?? [],
    reload: async (signal) => (await (await load())?.reload(signal)) ?? [],
    reconfigured: () => loaded?.reconfigured(),
    async close() {
      isClosed = true
      // The callers that wait for code that cannot be loaded get its error.
      await (await create.made()?.catch(() => undefined))?.close()
      await (await openSessionServers.made()?.catch(() => undefined))?.close()
    },
  }
}
