/**
 * A connection whose code is loaded with the first request: the SDK costs time and memory.
 */
import type { ConnectionDeps, ServerConnection } from './connection.ts'

export function lazyConnection(deps: ConnectionDeps): ServerConnection {
  let loading: Promise<ServerConnection> | undefined
  let loaded: ServerConnection | undefined
  let isClosed = false
  const create = async () => {
    const { createServerConnection } = await import('./connection.ts')
    loaded = createServerConnection(deps)
    if (isClosed) await loaded.close()
    return loaded
  }
  const load = () => {
    loading ??= create()
    return loading
  }
  return {
    request: async (request, signal) => (await load()).request(request, signal),
    catalogue: async (signal) => (await load()).catalogue(signal),
    problem: () => loaded?.problem() ?? '',
    isRunning: () => loaded?.isRunning() === true,
    async close() {
      isClosed = true
      await (await loading)?.close()
    },
  }
}
