/**
 * The way to the gateway: it is reached after the first frame, and everything that needs it waits for it.
 */
import type { Endpoint } from '../../cli/kit/endpoint.ts'
import type { GatewayApi, GatewayCommand } from './gateway-api.ts'
import type { LiveConversations } from './live-conversations.ts'
import type { Store } from './store.ts'

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
  readonly api: GatewayApi
  readonly live: LiveConversations
  /** The conversation to show, when the gateway had to find it. */
  readonly chat: string | undefined
  /** Throws as `GatewayApi.commands`. */
  commands(): Promise<readonly GatewayCommand[]>
}

/** Rejects when no gateway can be reached. */
export async function connectGateway({ store, fetch, signal, connect }: ConnectionOptions): Promise<Connection> {
  const [{ createGatewayApi }, { createLiveConversations }] = await Promise.all([
    import('./gateway-api.ts'),
    import('./live-conversations.ts'),
  ])
  // Who has left already needs no gateway.
  signal.throwIfAborted()
  const { url, token, model, degraded, plugins, toolsets, checkpoints = false, chat } = await connect()
  const connection = { url, token, fetch }
  const api = createGatewayApi(connection)
  const limited = toolsets === undefined ? {} : { toolsets }
  const live = createLiveConversations({ ...connection, checkpoints, store, api, signal, ...limited })
  store.update({ gateway: { state: 'ready', model }, hint: '' })
  if (chat !== undefined) store.show(chat, 'unknown')
  const problems = [...degraded, ...plugins.map(({ id, state, reason }) => `plugin ${id} (${state}): ${reason}`)]
  for (const text of problems) store.dispatch(store.state.current, { type: 'notice', text })
  return { api, live, chat, commands: () => api.commands(signal) }
}
