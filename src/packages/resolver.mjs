/**
 * Resolves module names: `#sdk` for hooks, plugins and platforms outside this repository, bundled packages to their
 * bundle, and files of an edited plugin to their new version.
 */

/**
 * @param {ReadonlyMap<string, string>} bundledPackages package name -> file URL
 * @returns {import('node:module').ResolveHookSync}
 */
export function createResolver(bundledPackages) {
  const gateway = new URL('../../', import.meta.url).href
  const sdk = new URL('../sdk.ts', import.meta.url).href
  const sdkEntryPoints = new Map([
    ['#sdk', sdk],
    ['hermes-gateway/sdk', sdk],
    ['#sdk/testing', new URL('../../test/kit/testing.ts', import.meta.url).href],
  ])
  return (specifier, context, nextResolve) => {
    if (specifier.startsWith('node:')) return { url: specifier, format: 'builtin', shortCircuit: true }
    // A package may have a private import of the same name, and its own version of a package. The gateway may be one.
    const parent = context.parentURL ?? ''
    const path = parent.startsWith(gateway) ? `/${parent.slice(gateway.length)}` : parent
    if (path.includes('/node_modules/')) return nextResolve(specifier, context)
    const sdkEntryPoint = sdkEntryPoints.get(specifier)
    if (sdkEntryPoint !== undefined) return { url: sdkEntryPoint, shortCircuit: true }
    const file = bundledPackages.get(specifier)
    if (file !== undefined) return { url: file, format: 'module', shortCircuit: true }
    return (
      ownFile(specifier, context.parentURL, gateway) ??
      withVersionOfParent(nextResolve(specifier, context), specifier, context.parentURL)
    )
  }
}

/**
 * A file of the gateway that another one names with its extension is where the name says. Node would look for links and for the
 * nearest `package.json` first, which is a tenth of the work of a start.
 * @param {string} specifier
 * @param {string | undefined} parentUrl
 * @param {string} gateway the URL of the installation
 * @returns {import('node:module').ResolveFnOutput | undefined} undefined for other modules
 */
function ownFile(specifier, parentUrl, gateway) {
  const isOwn = specifier.startsWith('.') && parentUrl?.startsWith(gateway) === true && !parentUrl.includes('?')
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
