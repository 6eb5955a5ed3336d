/**
 * A real gateway that answers requests about itself. The first argument contains the settings as JSON: `home`,
 * `instantModel` to exclude the network of the model, and `shipped` for the bundled platforms instead of those of the
 * benchmark.
 */
import { Session } from 'node:inspector/promises'
import { flushCompileCache, registerHooks } from 'node:module'
import { relative } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { bundledPackageUrls } from '../../../src/packages/bundled-packages.mjs'
import { createResolver } from '../../../src/packages/resolver.mjs'
import { handleRequest } from './child-requests.ts'

const { home, instantModel, shipped } = z
  .object({ home: z.string(), instantModel: z.boolean().default(false), shipped: z.boolean().default(false) })
  .parse(JSON.parse(process.argv[2] ?? '{}'))

registerHooks({ resolve: createResolver(bundledPackageUrls()) })
if (instantModel) {
  const instant = new URL('./instant-post.ts', import.meta.url).href
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier === './http-post.ts'
        ? { url: instant, format: 'module-typescript', shortCircuit: true }
        : next(specifier, context),
  })
}

const { startGateway } = await import('../../../src/gateway.ts')
const { createHomeLayout } = await import('../../../src/lib/home.ts')
const gateway = await startGateway({
  home: createHomeLayout(home),
  version: 'bench',
  environment: { PATH: process.env['PATH'] ?? '', HOME: home },
  platformDirectories: [fileURLToPath(new URL(shipped ? '../../../platforms/' : '../platforms/', import.meta.url))],
  commandLine: ['true'],
  // The log is written only to its file, as under a service manager.
  log: { pretty: false },
})
await gateway.initialConnectsDone()
// The process is killed at the end, so the cache must be written now.
flushCompileCache()

const noParameters = z.looseObject({})
handleRequest('address', noParameters, () => ({ url: gateway.url, token: gateway.token() }))
handleRequest('cpu', noParameters, () => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
})
handleRequest('memory', noParameters, () => {
  const rss = process.memoryUsage().rss / 2 ** 20
  globalThis.gc?.()
  const after = process.memoryUsage()
  return { rss, heap: after.heapUsed / 2 ** 20, external: after.external / 2 ** 20 }
})
const delay = monitorEventLoopDelay({ resolution: 5 })
handleRequest('delay:begin', noParameters, () => {
  delay.reset()
  delay.enable()
})
handleRequest('delay:end', noParameters, () => {
  delay.disable()
  // The timer has a resolution of 5 ms; the rest is delay.
  return { p50: delay.percentile(50) / 1e6 - 5, p99: delay.percentile(99) / 1e6 - 5, max: delay.max / 1e6 - 5 }
})
const inspector = new Session()
handleRequest('coverage:begin', noParameters, async () => {
  inspector.connect()
  await inspector.post('Profiler.enable')
  await inspector.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
})
/** The functions that timers call while no message arrives. @type {Set<string>} */
let calledWhileIdle = new Set()
handleRequest('coverage:idle', noParameters, async () => {
  const { result } = await inspector.post('Profiler.takePreciseCoverage')
  calledWhileIdle = new Set(calledFunctionsIn(result).map(({ id }) => id))
})
handleRequest('coverage:end', noParameters, async () => {
  const { result } = await inspector.post('Profiler.takePreciseCoverage')
  inspector.disconnect()
  const called = calledFunctionsIn(result).filter(({ id }) => !calledWhileIdle.has(id))
  return [...new Set(called.map(({ path }) => path))].sort()
})

handleRequest('profile:begin', noParameters, async () => {
  inspector.connect()
  await inspector.post('Profiler.enable')
  await inspector.post('Profiler.setSamplingInterval', { interval: 100 })
  await inspector.post('Profiler.start')
})
handleRequest('profile:end', noParameters, async () => {
  const { profile } = await inspector.post('Profiler.stop')
  inspector.disconnect()
  return profile
})

/**
 * The functions of the project that were called, with the paths of their files from its root.
 * @param {import('node:inspector').Profiler.ScriptCoverage[]} coverage
 */
function calledFunctionsIn(coverage) {
  const root = fileURLToPath(new URL('../../../', import.meta.url))
  return coverage
    .filter(({ url }) => url.startsWith('file:'))
    .map(({ url, functions }) => ({ path: relative(root, fileURLToPath(url)), functions }))
    .filter(({ path }) => /^(src|platforms|plugins|hooks)\//.test(path))
    .flatMap(({ path, functions }) =>
      functions.flatMap(({ ranges: [range] }) =>
        range !== undefined && range.count > 0 ? [{ path, id: `${path}:${range.startOffset}` }] : [],
      ),
    )
}

handleRequest('stop', noParameters, async () => {
  await gateway.stop()
})
process.send?.('up')
