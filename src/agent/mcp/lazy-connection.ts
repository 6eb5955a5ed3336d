/**
 * A connection whose code is loaded with the first request: the SDK costs time and memory.
 */
import type { ConnectionDeps, ServerConnection } from './connection.ts'

type ConnectionCode = Pick<typeof import('./connection.ts'), 'createServerConnection'>

/** @param loadCode is tried again after a failure */
export function lazyConnection(
  deps: ConnectionDeps,
  loadCode: () => Promise<ConnectionCode> = () => import('./connection.ts'),
): ServerConnection {
  let loading: Promise<ServerConnection> | undefined
  let loaded: ServerConnection | undefined
  let isClosed = false
  const create = async () => {
    const { createServerConnection } = await loadCode()
    loaded = createServerConnection(deps)
    if (isClosed) await loaded.close()
    return loaded
  }
  const load = () => {
    loading ??= create().catch((error: unknown) => {
      loading = undefined
      throw error
    })
    return loading
  }
  return {
    request: async (request, signal, askUser) => (await load()).request(request, signal, askUser),
    catalogue: async (signal) => (await load()).catalogue(signal),
    problem: () => loaded?.problem() ?? '',
    isRunning: () => loaded?.isRunning() === true,
    async close() {
      isClosed = true
      // The callers that wait for code that cannot be loaded get its error.
      await (await loading?.catch(() => undefined))?.close()
    },
  }
}
