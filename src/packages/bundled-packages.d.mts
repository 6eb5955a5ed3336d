/**
 * Types of `bundled-packages.mjs` for TypeScript.
 */
export const bundledPackages: readonly string[]
export const bundleDirectory: URL
export const compileCacheDirectory: URL
export const bundleMarkerName: string
export function bundleFileName(name: string): string
export function bundledPackageUrls(directory?: URL, manifest?: URL): ReadonlyMap<string, string>
