/**
 * Registers the resolver of module names in this thread. A thread needs it to find a package in an image, which contains the
 * bundles only.
 */
import { registerHooks } from 'node:module'
import { bundledPackageUrls } from './bundled-packages.mjs'
import { createResolver } from './resolver.mjs'

export function registerResolver() {
  registerHooks({ resolve: createResolver(bundledPackageUrls()) })
}
