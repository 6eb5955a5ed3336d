/**
 * Resolves module names: `#sdk` for hooks, plugins and platforms outside this repository, bundled packages to their
 * bundle, and files of an edited plugin to their new version.
 */

/**
 * @param {object} options
 * @param {URL} options.source the directory of `sdk.ts`
 * @param {ReadonlyMap<string, string>} options.packed package name -> file URL
 * @returns {import('node:module').ResolveHookSync}
 */
export function createResolver({ source: sourceDirectory, packed: bundledPackages }) {
  const sdkEntryPoints = new Map([
    ['#sdk', new URL('sdk.ts', sourceDirectory).href],
    ['hermes-gateway/sdk', new URL('sdk.ts', sourceDirectory).href],
    ['#sdk/testing', new URL('../test/kit/testing.ts', sourceDirectory).href],
  ])
  const installation = new URL('../', sourceDirectory).href
  return (specifier, context, nextResolve) => {
    if (specifier.startsWith('node:')) return { url: specifier, format: 'builtin', shortCircuit: true }
    // A package may have a private import of the same name, and its own version of a package.
    if (context.parentURL?.includes('/node_modules/') === true) return nextResolve(specifier, context)
    const sdkEntryPoint = sdkEntryPoints.get(specifier)
    if (sdkEntryPoint !== undefined) return { url: sdkEntryPoint, format: 'module-typescript', shortCircuit: true }
    const file = bundledPackages.get(specifier)
    if (file !== undefined) return { url: file, format: 'module', shortCircuit: true }
    return (
      ownFile(specifier, context.parentURL, installation) ??
      withVersionOfParent(nextResolve(specifier, context), specifier, context.parentURL)
    )
  }
}

/**
 * A file of the gateway that another one names with its extension is where the name says. Node would look for links and for the
 * nearest `package.json` first, which is a tenth of the work of a start.
 * @param {string} specifier
 * @param {string | undefined} parentUrl
 * @param {string} installation
 * @returns {import('node:module').ResolveFnOutput | undefined} undefined for other modules
 */
function ownFile(specifier, parentUrl, installation) {
  const isOwn = specifier.startsWith('.') && parentUrl?.startsWith(installation) === true && !parentUrl.includes('?')
  const format = isOwn ? ownFormats[specifier.slice(specifier.lastIndexOf('.') + 1)] : undefined
  return format === undefined ? undefined : { url: new URL(specifier, parentUrl).href, format, shortCircuit: true }
}

/** @type {Readonly<Record<string, string | undefined>>} */
const ownFormats = { ts: 'module-typescript', mjs: 'module' }

/**
 * A plugin whose files were edited is imported under a URL with another `?attempt=`, because Node imports a URL only once.
 * What it imports by relative paths gets the same query, so that these files are read again, too.
 * @param {import('node:module').ResolveFnOutput} resolved
 * @param {string} specifier
 * @param {string | undefined} parentUrl
 */
function withVersionOfParent(resolved, specifier, parentUrl) {
  const query = parentUrl?.match(/\?attempt=\d+$/)?.[0]
  if (query === undefined || !specifier.startsWith('.') || resolved.url.includes('?')) return resolved
  return { ...resolved, url: `${resolved.url}${query}` }
}
