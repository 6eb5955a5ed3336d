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
  return (specifier, context, nextResolve) => {
    // A package may have a private import of the same name, and its own version of a package.
    if (context.parentURL?.includes('/node_modules/') === true) return nextResolve(specifier, context)
    const sdkEntryPoint = sdkEntryPoints.get(specifier)
    if (sdkEntryPoint !== undefined) return { url: sdkEntryPoint, format: 'module-typescript', shortCircuit: true }
    const file = bundledPackages.get(specifier)
    if (file !== undefined) return { url: file, format: 'module', shortCircuit: true }
    return withVersionOfParent(nextResolve(specifier, context), specifier, context.parentURL)
  }
}

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
