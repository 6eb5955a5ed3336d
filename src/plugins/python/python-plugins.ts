/**
 * Loads plugins written in Python. Each runs in its own process; proxies represent its registrations in the gateway.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { HostRequest } from '../../hosts/contract.ts'
import type { PythonPlugins, PythonPluginsDeps } from './contract.ts'
import { createPythonProcess } from './python-process.ts'
import { createPythonRegistry } from './python-registry.ts'
import { createRequestHandler } from './request-handlers.ts'

export function createPythonPlugins(deps: PythonPluginsDeps): PythonPlugins {
  return {
    async load(plugin, context, turn) {
      // Requests outside of calls belong to no turn, although the process may be started during one.
      const runOutsideTurn = AsyncLocalStorage.snapshot()
      const handleRequest = createRequestHandler(context)
      const serve = async ({ method, args, signal }: HostRequest): Promise<unknown> => {
        if (method === 'register') return registry.register(args[0])
        if (method === 'remove') return registry.remove(args[0])
        if (method === 'warn') return process.addWarning(String(args[0]))
        if (method === 'registered') return registry.finishRegistration(args[0])
        const pending = handleRequest(method, args, signal)
        if (pending === undefined) throw new Error(`unknown method ${method}`)
        return await pending
      }
      const process = createPythonProcess(deps, {
        plugin,
        onRequest: serve,
        async onBackgroundRequest(request) {
          await turn
          return await runOutsideTurn(serve, request)
        },
        log: context.log,
      })
      const registry = createPythonRegistry(deps, plugin, context, process, serve)
      let isLoading = true
      // Unloading during the load stops the process, so that `open` rejects.
      context.onUnload(() => (isLoading ? process.stop() : undefined))
      await process.open()
      isLoading = false
      return process
    },
  }
}
