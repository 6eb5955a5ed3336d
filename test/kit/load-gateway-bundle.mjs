/**
 * Makes a process load the gateway from a bundle (`gateway-bundle.ts`): `node --import 'load-gateway-bundle.mjs?<path>'`.
 * Worker threads load the sources.
 */
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { pathToFileURL } from 'node:url'
import { isMainThread } from 'node:worker_threads'

const root = new URL('../../', import.meta.url).href

/**
 * Resolves sources to the bundle. A hook that was registered earlier sees what later ones leave to it: call this after the
 * resolver of the gateway was registered.
 * @param {string} directory of the bundle
 */
export function loadFromBundle(directory) {
  registerHooks({ resolve: createResolver(directory) })
}

/**
 * @param {string} directory
 * @returns {import('node:module').ResolveHookSync}
 */
function createResolver(directory) {
  /** @type {readonly string[]} */
  const names = JSON.parse(readFileSync(`${directory}/entries.json`, 'utf8'))
  const bundled = new Map(
    names.map((name) => [`${root}${name}`, pathToFileURL(`${directory}/${name.replace(/\.ts$/, '.mjs')}`).href]),
  )
  return (specifier, context, nextResolve) => {
    const resolved = nextResolve(specifier, context)
    const url = bundled.get(resolved.url)
    if (url !== undefined) return { url, format: 'module', shortCircuit: true }
    // It would exist twice in this process.
    if (resolved.url.startsWith(`${root}src/`) && resolved.url.endsWith('.ts'))
      throw new Error(`${resolved.url} is no entry of the bundle (build-gateway-bundle.mjs)`)
    return resolved
  }
}

const directory = decodeURIComponent(new URL(import.meta.url).search.slice(1))
if (directory !== '' && isMainThread) {
  const hook = registerHooks({
    resolve(specifier, context, nextResolve) {
      const resolved = nextResolve(specifier, context)
      if (resolved.url !== `${root}src/cli/main.ts`) return resolved
      // The first source: `launch.mjs` has registered the resolver of the gateway.
      hook.deregister()
      loadFromBundle(directory)
      return createResolver(directory)(specifier, context, () => resolved)
    },
  })
}
