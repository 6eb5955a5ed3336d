/**
 * MCP servers of single conversations, which a front end brings along, such as those of an editor. Only their conversation has their
 * tools. They are held in memory: the front end names them again after a restart. Loaded with the first of them.
 */
import { createHash } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { McpServerConfig } from '../../agent/mcp/config.ts'
import { createToolRegistry, type LoadedTools } from '../../agent/tools/registry.ts'
import { findSecrets } from '../../config/secrets.ts'
import type { SessionKey } from '../../message/ids.ts'
import { type McpRuntime, type McpRuntimeDeps, openMcpServers } from './mcp-servers.ts'

export type SessionServerConfig = Readonly<Record<string, McpServerConfig>>

export interface SessionServers {
  /** Replaces the servers of a conversation; none ends them. `directory`: where they start. Never rejects. */
  set(key: SessionKey, servers: SessionServerConfig, directory: string | undefined): Promise<void>
  /** Undefined where there are none. Waits a while for servers that were never asked. Never rejects. */
  tools(key: SessionKey): Promise<LoadedTools | undefined>
  close(): Promise<void>
}

interface Entry {
  /** The fingerprint of the servers and the directory. */
  readonly fingerprint: string
  readonly runtime: McpRuntime
  /** What is known of the servers, and their `/tmp`. */
  readonly folder: string
  /** Ends the servers when no one has used them for a while. */
  readonly idle: NodeJS.Timeout
}

/** A front end that was killed ends nothing. One that goes on names its servers before each message. */
const defaultIdleMs = 2 * 60 * 60_000

/** Conversations with servers. The servers of the conversation that has them for longest end. */
const maxConversations = 100

export function createSessionServers(
  deps: Omit<McpRuntimeDeps, 'onToolsChanged'>,
  idleMs = defaultIdleMs,
): SessionServers {
  const { home, secrets, log } = deps
  const entries = new Map<SessionKey, Entry>()
  /** Two changes of one conversation follow each other. */
  const changes = new Map<SessionKey, Promise<void>>()

  async function end(key: SessionKey): Promise<void> {
    const session = entries.get(key)
    if (session === undefined) return
    entries.delete(key)
    clearTimeout(session.idle)
    secrets.set(`session-servers:${key}`, [])
    await session.runtime.close()
    await rm(session.folder, { recursive: true, force: true }).catch((error: unknown) => {
      log.warn(
        { event: 'mcp.cache_left', err: error },
        'what was known of the MCP servers of a session was not removed',
      )
    })
  }

  async function inOrder(key: SessionKey, work: () => Promise<void>): Promise<void> {
    const change = (changes.get(key) ?? Promise.resolve()).then(work)
    const settled = change.catch(() => undefined)
    changes.set(key, settled)
    try {
      await change
    } finally {
      if (changes.get(key) === settled) changes.delete(key)
    }
  }

  async function replace(key: SessionKey, servers: SessionServerConfig, directory: string | undefined): Promise<void> {
    const fingerprint = JSON.stringify([servers, directory])
    const known = entries.get(key)
    if (known?.fingerprint === fingerprint) {
      known.idle.refresh()
      return
    }
    await end(key)
    if (Object.keys(servers).length === 0) return
    secrets.set(`session-servers:${key}`, findSecrets({ mcp_servers: servers }))
    const folder = join(home.mcpCache, 'sessions', createHash('sha256').update(key).digest('hex').slice(0, 32))
    const settings: McpRuntimeDeps['settings'] = () => {
      const current = deps.settings()
      const terminal = directory === undefined ? current.terminal : { ...current.terminal, cwd: directory }
      return { ...current, terminal, mcp_servers: { ...servers } }
    }
    const runtime = openMcpServers({
      ...deps,
      home: { ...home, mcpCache: folder },
      settings,
      onToolsChanged: () => undefined,
    })
    const idle = setTimeout(() => void inOrder(key, () => end(key)), idleMs).unref()
    entries.set(key, { fingerprint, runtime, folder, idle })
    for (const oldest of entries.keys()) if (entries.size > maxConversations) await end(oldest)
  }

  return {
    async set(key, servers, directory) {
      await inOrder(key, () => replace(key, servers, directory))
    },
    async tools(key) {
      const session = entries.get(key)
      session?.idle.refresh()
      const definitions = await session?.runtime.tools()
      return definitions === undefined ? undefined : await createToolRegistry({ definitions, log }).load()
    },
    async close() {
      await Promise.all(changes.values())
      await Promise.all([...entries.keys()].map(end))
    },
  }
}
