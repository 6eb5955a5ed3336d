/**
 * A connection whose code is loaded with the first request: the SDK costs time and memory.
 */
import { lazy } from '../../lib/cache.ts'
import type { ConnectionDeps, ServerConnection } from './connection.ts'

type ConnectionCode = Pick<typeof import('./connection.ts'), 'createServerConnection'>

/** @param loadCode is tried again after a failure */
export function lazyConnection(
  deps: ConnectionDeps,
  loadCode: () => Promise<ConnectionCode> = () => import('./connection.ts'),
): ServerConnection {
  let loaded: ServerConnection | undefined
  let isClosed = false
  const load = lazy(async () => {
    const { createServerConnection } = await loadCode()
    loaded = createServerConnection(deps)
    if (isClosed) await loaded.close()
    return loaded
  })
  return {
    request: async (request, signal, askUser) => (await load()).request(request, signal, askUser),
    catalogue: async (signal) => (await load()).catalogue(signal),
    problem: () => loaded?.problem() ?? '',
    isRunning: () => loaded?.isRunning() === true,
    async close() {
      isClosed = true
      // The callers that wait for code that cannot be loaded get its error.
      await (await load.made()?.catch(() => undefined))?.close()
    },
  }
}
