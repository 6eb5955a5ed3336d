/**
 * Plugins written in Python: each in a process of its own, with stand-ins for what it registers there.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { HostRequest } from '../../hosts/contract.ts'
import type { PythonPlugins, PythonPluginsDeps } from './contract.ts'
import { createPythonProcess } from './python-process.ts'
import { createPythonRegistry } from './python-registry.ts'
import { createRequestHandler } from './request-handlers.ts'

export function createPythonPlugins(deps: PythonPluginsDeps): PythonPlugins {
  return {
    async load(plugin, context) {
      // What a plugin asks for on its own belongs to no turn, whoever has made its process start.
      const runOutsideTurn = AsyncLocalStorage.snapshot()
      const handleRequest = createRequestHandler(context)
      const serve = async ({ method, args, signal }: HostRequest): Promise<unknown> => {
        if (method === 'register') return registry.register(args[0])
        if (method === 'remove') return registry.remove(args[0])
        if (method === 'registered') return registry.finishRegistration(args[0])
        const pending = handleRequest(method, args, signal)
        if (pending === undefined) throw new Error(`there is no ${method}`)
        return await pending
      }
      const process = createPythonProcess({
        ...deps,
        plugin,
        serve,
        serveOutsideCalls: (request) => runOutsideTurn(serve, request),
        log: context.log,
      })
      const registry = createPythonRegistry({
        context,
        process: () => process,
        serve,
        environment: () => deps.launchOptionsOf(plugin).env,
        hookTimeoutMs: deps.hookTimeoutMs,
      })
      let isLoading = true
      // Unloaded before it is loaded: it is not waited for any more.
      context.onUnload(() => (isLoading ? process.stop() : undefined))
      await process.open()
      isLoading = false
      return process
    },
  }
}
