/**
 * The way to the gateway: it is reached after the first frame, and everything that needs it waits for it.
 */
import type { Endpoint } from '../../api/endpoint.ts'
import type { GatewayCommand } from './keys.ts'
import type { LiveConversations } from './live-conversations.ts'
import type { Store } from './store.ts'
import type { StoredConversation } from './stored-conversations.ts'

/** What the interface needs of a gateway. */
export interface TuiEndpoint extends Pick<Endpoint, 'url' | 'token' | 'model' | 'degraded' | 'plugins'> {
  /** The toolsets of new conversations. */
  readonly toolsets?: readonly string[] | undefined
  /** Files are kept before the agent changes them. */
  readonly checkpoints?: boolean
  /** The conversation to show. */
  readonly chat?: string | undefined
}

export interface ConnectionOptions {
  readonly store: Store
  readonly fetch: typeof fetch
  readonly signal: AbortSignal
  /** Throws when no gateway can be reached. */
  connect(): Promise<TuiEndpoint>
}

export interface Connection {
  /** The stored conversations, the newest first; '': all. Rejects `cli/no-daemon` or with the gateway's error. */
  search(words: string): Promise<readonly StoredConversation[]>
  readonly live: LiveConversations
  /** The conversation to show, when the gateway had to find it. */
  readonly chat: string | undefined
  /** Rejects as `search`. */
  commands(): Promise<readonly GatewayCommand[]>
}

/** Rejects when no gateway can be reached. */
export async function connectGateway({ store, fetch, signal, connect }: ConnectionOptions): Promise<Connection> {
  const [{ callRoute }, { listCommands }, { findConversations }, { createLiveConversations }] = await Promise.all([
    import('../../api/client.ts'),
    import('../../api/routes/messages.ts'),
    import('./stored-conversations.ts'),
    import('./live-conversations.ts'),
  ])
  // A person who has left already needs no gateway.
  signal.throwIfAborted()
  const { url, token, model, degraded, plugins, toolsets, checkpoints = false, chat } = await connect()
  const connection = { url, token, fetch }
  const live = createLiveConversations({ ...connection, checkpoints, store, signal, toolsets })
  store.update({ gateway: { state: 'ready', model }, hint: '' })
  if (chat !== undefined) store.show(chat, 'unknown')
  const problems = [...degraded, ...plugins.map(({ id, state, reason }) => `plugin ${id} (${state}): ${reason}`)]
  for (const text of problems) store.dispatch(store.state.current, { type: 'notice', text })
  return {
    live,
    chat,
    search: (words) => findConversations(connection, { search: words.trim() || undefined }, signal),
    commands: () => callRoute(connection, listCommands, { signal }),
  }
}
