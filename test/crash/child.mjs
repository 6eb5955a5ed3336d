/**
 * Runs a gateway that kills itself at a failpoint. The settings are JSON in the first argument; a message of the parent
 * replaces the failpoint. `bundle` is the directory of a bundle of the sources (`gateway-bundle.ts`).
 */
import { subscribe } from 'node:diagnostics_channel'
import { readFileSync } from 'node:fs'
import { flushCompileCache, registerHooks } from 'node:module'
import { pathToFileURL } from 'node:url'
import { bundledPackageUrls } from '../../src/packages/bundled-packages.mjs'
import { createResolver } from '../../src/packages/resolver.mjs'

const { home, bundle, ...first } = JSON.parse(process.argv[2] ?? '{}')
const source = new URL('../../src/', import.meta.url)
const resolveModule = createResolver({ source, packed: bundledPackageUrls() })
registerHooks({ resolve: bundle === undefined ? resolveModule : createBundleResolver(bundle) })

/**
 * Resolves a source to its bundle. A source outside of the bundle would exist twice in this process.
 * @param {string} directory
 * @returns {import('node:module').ResolveHookSync}
 */
function createBundleResolver(directory) {
  const root = new URL('../../', import.meta.url).href
  const names = JSON.parse(readFileSync(`${directory}/entries.json`, 'utf8'))
  const bundled = new Map(
    names.map((/** @type {string} */ name) => [
      `${root}${name}`,
      pathToFileURL(`${directory}/${name.replace(/\.ts$/, '.mjs')}`).href,
    ]),
  )
  return (specifier, context, nextResolve) => {
    const resolved = resolveModule(specifier, context, nextResolve)
    const url = bundled.get(resolved.url)
    if (url !== undefined) return { url, format: 'module', shortCircuit: true }
    if (resolved.url.startsWith(source.href) && resolved.url.endsWith('.ts'))
      throw new Error(`${resolved.url} is no entry of the bundle (build-bundle.mjs)`)
    return resolved
  }
}

const { startGateway } = await import('../../src/gateway.ts')
const { createHomeLayout } = await import('../../src/lib/home.ts')
let { killAt, killHit } = first
let hits = 0

/** @param {unknown} point */
function failpoint(point) {
  if (point !== killAt) return
  hits += 1
  if (hits === killHit) process.kill(process.pid, 'SIGKILL')
}

process.on('message', (/** @type {{ killAt: string, killHit: number }} */ kill) => {
  killAt = kill.killAt
  killHit = kill.killHit
  hits = 0
  process.send?.('armed')
})
// The failpoints of the adapter, which is installed in the home.
subscribe('crash-test:failpoint', failpoint)

const layout = createHomeLayout(home)
const stop = Promise.withResolvers()
process.once('SIGTERM', () => stop.resolve())
const gateway = await startGateway({
  home: layout,
  version: 'crash-test',
  environment: { PATH: process.env['PATH'], HOME: home },
  platformDirectories: [layout.platforms],
  commandLine: ['true'],
  log: { pretty: false, stream: process.stderr },
  failpoint,
})
process.stdout.write('ready\n')
// A process that is killed would not write its cache.
flushCompileCache()
await stop.promise
await gateway.stop()
process.exit(0)
