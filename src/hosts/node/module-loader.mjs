/**
 * Loads handler modules: finds their functions, locates errors and lists their files.
 */
import { registerHooks } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { bundledPackageUrls } from '../../packages/bundled-packages.mjs'
import { createResolver } from '../../packages/resolver.mjs'
import { locateError } from './error-location.mjs'
import { messageOf } from './errors.mjs'
import { createTypeStripper } from './type-stripper.mjs'

const source = new URL('../../', import.meta.url)

export function createModuleLoader(cacheFolder) {
  /** The imports of each handler file. */
  const imports = new Map()
  const exported = new Map()

  const resolveName = createResolver(bundledPackageUrls())
  const resolve = (specifier, context, next) => {
    const found = resolveName(specifier, context, next)
    if (isHandlerFile(found.url) && context.parentURL !== undefined) {
      const known = imports.get(context.parentURL)
      if (known === undefined) imports.set(context.parentURL, new Set([found.url]))
      else known.add(found.url)
    }
    return found
  }
  const strip = cacheFolder === undefined ? undefined : createTypeStripper(cacheFolder)
  registerHooks(strip === undefined ? { resolve } : { resolve, load: strip })

  const filesOf = (entry) => {
    const found = new Set([entry])
    // Iterating a set includes the values that are added meanwhile.
    for (const url of found) for (const imported of imports.get(url) ?? []) found.add(imported)
    return [...found].map((url) => fileURLToPath(url))
  }

  return {
    /** Never rejects. `problem` contains `message` and `stack` of the error if the module cannot be loaded. */
    async load({ module, path, entry }) {
      const { href } = pathToFileURL(path)
      try {
        const functions = exportedFunctions(await import(href), entry)
        exported.set(module, functions)
        const failure = functions.has(entry) ? undefined : missingEntryError(path, entry, functions)
        return { problem: failure, files: filesOf(href) }
      } catch (error) {
        const files = filesOf(href)
        // Inspecting a thrown value may throw.
        const problem = await locateError(error, path, files).catch(() => ({
          message: `${path}: ${messageOf(error)}`,
          stack: '',
        }))
        return { problem, files }
      }
    },
    find: (module, name) => exported.get(module)?.get(name),
  }
}

/** Whether the file belongs neither to a package nor to the gateway. */
function isHandlerFile(url) {
  return url.startsWith('file:') && !url.includes('/node_modules/') && !url.startsWith(source.href)
}

/** The functions by name. The default export, or its property of that name (CommonJS), can replace the entry. */
function exportedFunctions(namespace, entry) {
  const found = new Map(Object.entries(namespace).filter(([, value]) => typeof value === 'function'))
  const { default: standard } = namespace
  if (found.has(entry)) return found
  if (typeof standard === 'function') found.set(entry, standard)
  else if (typeof standard?.[entry] === 'function') found.set(entry, standard[entry].bind(standard))
  return found
}

function missingEntryError(path, entry, functions) {
  const names = [...functions.keys()]
  const others = names.length === 0 ? 'it exports no function' : `it exports ${names.join(', ')}`
  return {
    message: `${path}: expected \`export function ${entry}\` or a default export that is a function; ${others}`,
    stack: '',
  }
}
