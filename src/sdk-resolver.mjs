/**
 * How `#sdk` reaches hooks, plugins and platforms that live outside this repository: a folder elsewhere cannot resolve a
 * name that is private to our package, so these names lead to our files from everywhere.
 */

/**
 * @param {URL} source the folder of `sdk.ts`
 * @returns {import('node:module').ResolveHookSync}
 */
export function createSdkResolver(source) {
  const doors = new Map([
    ['#sdk', new URL('sdk.ts', source).href],
    ['hermes-gateway/sdk', new URL('sdk.ts', source).href],
    ['#sdk/testing', new URL('../test/kit/testing.ts', source).href],
  ])
  return (specifier, context, nextResolve) => {
    // A package may have a private name of its own that looks like ours.
    const installed = context.parentURL?.includes('/node_modules/') === true
    const door = installed ? undefined : doors.get(specifier)
    return door === undefined
      ? nextResolve(specifier, context)
      : { url: door, format: 'module-typescript', shortCircuit: true }
  }
}
